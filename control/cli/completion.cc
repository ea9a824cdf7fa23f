// SPDX-License-Identifier: Apache-2.0
#include "control/cli/completion.h"

#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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
  const std::string type = option.get_type_name();
  if (absl::StrContains(type, "CIRCUIT")) return kCircuitValues;
  if (absl::StrContains(type, "SOURCE")) return kSourceValues;
  if (absl::StrContains(type, "PORT-NAME")) return kPortValues;
  return absl::StrContains(type, "SELECTOR") ? kLinkValues : "";
}

CompletionOption Describe(const CLI::Option& option) {
  CompletionOption result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  result.help = option.get_description();
  result.takes_value = option.get_items_expected_max() > 0;
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

// Every word that may stand at this place, except paths.
std::vector<std::string> WordsOf(const CompletionVerb& verb) {
  std::vector<std::string> words = verb.verbs;
  for (const CompletionOption& option : verb.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
    if (option.names.empty())
      words.insert(words.end(), option.choices.begin(), option.choices.end());
  }
  return words;
}

bool WantsFile(const CompletionVerb& verb) {
  for (const CompletionOption& option : verb.options)
    if (option.names.empty() && option.file) return true;
  return false;
}

// The values that may stand in the place of a path.
std::string WantedValues(const CompletionVerb& verb) {
  for (const CompletionOption& option : verb.options)
    if (option.names.empty() && !option.values.empty()) return option.values;
  return "";
}

// A part of an arm that says what `bfly values` is asked for.
std::string ValuesPart(const std::string& values) {
  return values.empty() ? "" : " values=" + values;
}

// The `case` arms that bash and zsh share: which verb the words so far name, and what may follow.
// The caller sets "path" and "prev"; the arms set "words", "files" and "values".
std::string Arms(const std::vector<CompletionVerb>& verbs) {
  std::string out = "  local words= files= values=\n  case \"$path $prev\" in\n";
  for (const CompletionVerb& verb : verbs) {
    for (const CompletionOption& option : verb.options) {
      if (!option.takes_value || option.names.empty()) continue;
      const std::string patterns =
          absl::StrJoin(option.names, "|", [&verb](std::string* s, const std::string& name) {
            absl::StrAppend(s, "'", verb.path, " ", name, "'");
          });
      absl::StrAppend(&out, "    ", patterns, ") words='", absl::StrJoin(option.choices, " "), "'",
                      option.file ? " files=1" : "", ValuesPart(option.values), " ;;\n");
    }
  }
  absl::StrAppend(&out, "    *) case \"$path\" in\n");
  for (const CompletionVerb& verb : verbs) {
    absl::StrAppend(&out, "      '", verb.path, "') words='", absl::StrJoin(WordsOf(verb), " "),
                    "'", WantsFile(verb) ? " files=1" : "", ValuesPart(WantedValues(verb)),
                    " ;;\n");
  }
  absl::StrAppend(&out, "    esac ;;\n  esac\n");
  return out;
}

std::string PathArm(const std::vector<CompletionVerb>& verbs) {
  std::vector<std::string> paths;
  for (const CompletionVerb& verb : verbs)
    if (verb.path.find(' ') != std::string::npos) paths.push_back("'" + verb.path + "'");
  return absl::StrJoin(paths, "|");
}

std::string QuoteFish(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

}  // namespace

std::vector<CompletionVerb> CompletionVerbs(const CLI::App& app) {
  std::vector<CompletionVerb> verbs;
  Collect(app, app.get_name(), verbs);
  return verbs;
}

std::string BashCompletion(const CLI::App& app) {
  const std::vector<CompletionVerb> verbs = CompletionVerbs(app);
  return absl::StrCat(
      "# bash completion for bfly, written by `bfly completion bash`\n"
      "_bfly() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=bfly i\n"
      "  local -a where=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${COMP_WORDS[i]}\" in\n"
      "      --run-dir|--controller) where+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\") ;;\n"
      "    esac\n"
      "    case \"$path ${COMP_WORDS[i]}\" in\n"
      "      ",
      PathArm(verbs),
      ") path=\"$path ${COMP_WORDS[i]}\" ;;\n"
      "    esac\n"
      "  done\n",
      Arms(verbs),
      "  [[ -n $values && $cur != -* ]] && "
      "words+=\" $(bfly values \"$values\" \"${where[@]}\" 2>/dev/null)\"\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; "
      "[[ -n $files && $cur != -* ]] && compgen -f -- \"$cur\")\n"
      "  [[ -n $files ]] && compopt -o filenames 2>/dev/null\n"
      "  return 0\n"
      "}\n"
      "complete -F _bfly bfly\n");
}

std::string ZshCompletion(const CLI::App& app) {
  const std::vector<CompletionVerb> verbs = CompletionVerbs(app);
  return absl::StrCat(
      "#compdef bfly\n"
      "# zsh completion for bfly, written by `bfly completion zsh`\n"
      "_bfly() {\n"
      "  local prev=${(Q)words[CURRENT-1]} path_=bfly word before=\n"
      "  local -a where\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case $before in\n"
      "      --run-dir|--controller) where+=($before ${(Q)word}) ;;\n"
      "    esac\n"
      "    before=$word\n"
      "    case \"$path_ $word\" in\n"
      "      ",
      PathArm(verbs),
      ") path_=\"$path_ $word\" ;;\n"
      "    esac\n"
      "  done\n",
      // In zsh `path` is the search path and `words` the command line, so other names stand for
      // both.
      absl::StrReplaceAll(Arms(verbs), {{"$path", "$path_"}, {"words=", "list="}}),
      "  [[ -n $values ]] && list+=\" $(bfly values $values $where 2>/dev/null)\"\n"
      "  [[ -n $list ]] && compadd -- ${=list}\n"
      "  [[ -n $files ]] && _files\n"
      "  return 0\n"
      "}\n"
      "compdef _bfly bfly\n");
}

std::string FishCompletion(const CLI::App& app) {
  std::string out =
      "# fish completion for bfly, written by `bfly completion fish`\n"
      "function __bfly_values\n"
      "  set -l words (commandline -opc)\n"
      "  set -l where\n"
      "  for i in (seq 2 (count $words))\n"
      "    if contains -- $words[$i] --run-dir --controller\n"
      "      set where $where $words[$i] $words[(math $i + 1)]\n"
      "    end\n"
      "  end\n"
      "  bfly values $argv $where 2>/dev/null\n"
      "end\n";
  for (const CompletionVerb& verb : CompletionVerbs(app)) {
    // The words of a verb count when all words of its path were typed and none of the verbs below
    // it was.
    std::vector<std::string> path = absl::StrSplit(verb.path, ' ');
    std::vector<std::string> seen;
    for (size_t i = 1; i < path.size(); ++i)
      seen.push_back("__fish_seen_subcommand_from " + path[i]);
    if (!verb.verbs.empty())
      seen.push_back("not __fish_seen_subcommand_from " + absl::StrJoin(verb.verbs, " "));
    const std::string condition =
        seen.empty() ? "" : " -n " + QuoteFish(absl::StrJoin(seen, "; and "));
    const std::string line = "complete -c bfly" + condition;
    if (!WantsFile(verb)) absl::StrAppend(&out, line, " -f\n");
    if (!verb.verbs.empty())
      absl::StrAppend(&out, line, " -a ", QuoteFish(absl::StrJoin(verb.verbs, " ")), "\n");
    if (const std::string values = WantedValues(verb); !values.empty())
      absl::StrAppend(&out, line, " -a '(__bfly_values ", values, ")'\n");
    for (const CompletionOption& option : verb.options) {
      std::string words;
      for (const std::string& name : option.names)
        absl::StrAppend(&words, name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (option.takes_value && !option.names.empty()) words += option.file ? " -r" : " -x";
      if (!option.choices.empty())
        absl::StrAppend(&words, " -a ", QuoteFish(absl::StrJoin(option.choices, " ")));
      if (!option.values.empty() && !option.names.empty())
        absl::StrAppend(&words, " -a '(__bfly_values ", option.values, ")'");
      if (words.empty()) continue;
      absl::StrAppend(&out, line, words, " -d ", QuoteFish(option.help), "\n");
    }
  }
  return out;
}

void AddCompletion(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print a completion file for a shell");
  verb->add_option("shell", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(
      "Example:\n  bfly completion bash > ~/.local/share/bash-completion/completions/bfly\n\n"
      "deploy/install puts the files of all three shells in place.");
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
