// SPDX-License-Identifier: Apache-2.0
#include "control/cli/completion.h"

#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "control/cli/verb.h"

namespace bfly::control {
namespace {

// CLI11 shows a list of allowed values as "TEXT:{a,b}" in the type's name.
std::vector<std::string> ChoicesOf(const std::string& type_name) {
  const size_t open = type_name.find('{');
  const size_t close = type_name.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return absl::StrSplit(type_name.substr(open + 1, close - open - 1), ',');
}

// What the value of an option is on the running fabric.
std::string ValuesOf(const CLI::Option& option) {
  static constexpr std::pair<const char*, const char*> kTypes[] = {
      {"CIRCUIT", kCircuitValues}, {"SOURCE", kSourceValues},          {"PORT-NAME", kPortValues},
      {"HOST-NAME", kHostValues},  {"DOWN-SELECTOR", kDownLinkValues}, {"SELECTOR", kLinkValues}};
  const std::string type = option.get_type_name();
  for (const auto& [name, values] : kTypes)
    if (absl::StrContains(type, name)) return values;
  return "";
}

CompletionOption Describe(const CLI::Option& option) {
  CompletionOption result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.help = option.get_description();
  result.takes_value = option.get_items_expected_max() > 0;
  result.many = option.get_items_expected_max() > 1;
  const std::string type = option.get_type_name();
  result.file = type.find("FILE") != std::string::npos || type.find("DIR") != std::string::npos;
  result.choices = ChoicesOf(type);
  result.values = ValuesOf(option);
  return result;
}

void Collect(const CLI::App& app, const std::string& path, std::vector<CompletionVerb>& verbs) {
  CompletionVerb verb{.path = path, .help = app.get_description(), .verbs = {}, .options = {}};
  for (const CLI::Option* option : app.get_options()) verb.options.push_back(Describe(*option));
  const std::vector<const CLI::App*> children =
      app.get_subcommands(std::function<bool(const CLI::App*)>());
  // Verbs without a group are not in the help.
  for (const CLI::App* child : children)
    if (!child->get_group().empty()) verb.verbs.push_back(child->get_name());
  verbs.push_back(verb);
  for (const CLI::App* child : children)
    if (!child->get_group().empty()) Collect(*child, path + " " + child->get_name(), verbs);
}

}  // namespace

std::vector<CompletionVerb> CompletionVerbs(const CLI::App& app) {
  std::vector<CompletionVerb> verbs;
  Collect(app, app.get_name(), verbs);
  return verbs;
}

void AddCompletion(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print a completion file for a shell");
  verb->add_option("shell", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(std::string("Example:\n  bfly completion bash > "
                           "~/.local/share/bash-completion/completions/bfly\n\n"
                           "deploy/install puts the files of all three shells in place.\n\n") +
               kExitCodes);
  verb->callback([&app, &invocation, shell] {
    invocation.action = [&app, shell] {
      const std::string text = *shell == "bash"  ? BashCompletion(app)
                               : *shell == "zsh" ? ZshCompletion(app)
                                                 : FishCompletion(app);
      fwrite(text.data(), 1, text.size(), stdout);
      return absl::OkStatus();
    };
  });
}

}  // namespace bfly::control
