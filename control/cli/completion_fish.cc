// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "control/cli/completion.h"

namespace bfly::control {
namespace {

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

std::string QuoteFish(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

}  // namespace

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

}  // namespace bfly::control
