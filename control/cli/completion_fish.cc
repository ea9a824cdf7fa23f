// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "control/cli/completion.h"

namespace bfly::control {
namespace {

std::string FishQuoted(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

std::string QuotedList(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, FishQuoted(word));
  });
}

// The lists that the functions below look words up in.
std::string Lists(const std::vector<CompletionVerb>& verbs) {
  std::vector<std::string> paths, with_value;
  for (const CompletionVerb& verb : verbs) {
    if (verb.path.find(' ') != std::string::npos) paths.push_back(verb.path);
    for (const CompletionOption& option : verb.options)
      for (const std::string& name : option.names)
        if (option.takes_value) with_value.push_back(verb.path + " " + name);
  }
  return absl::StrCat("set -g __bfly_verbs ", QuotedList(paths), "\nset -g __bfly_with_value ",
                      QuotedList(with_value), "\nset -g __bfly_where_options ",
                      absl::StrJoin(kWhereOptions, " "), "\n");
}

// __bfly_read sets what the words before the cursor say. __bfly_at is called once for each verb
// after every TAB, so it reads the words only if they have changed.
constexpr char kFunctions[] = R"SHELL(function __bfly_where
  if contains -- $argv[1] $__bfly_where_options
    set -g __bfly_where $__bfly_where $argv
  end
end
function __bfly_read
  set -l words (commandline -opc)
  if test "$words" = "$__bfly_words"
    return
  end
  set -g __bfly_words $words
  set -g __bfly_verb bfly
  set -g __bfly_place 0
  set -g __bfly_where
  set -l before ''
  set -l rest ''
  for word in $words[2..-1]
    if test -n "$before"
      __bfly_where $before $word
      set before ''
    else if test -n "$rest"
      set __bfly_place (math $__bfly_place + 1)
    else if test "$word" = --
      set rest 1
    else if string match -q -- '--*=*' $word
      __bfly_where (string split -m 1 = -- $word)
    else if string match -q -- '-*' $word
      if contains -- "$__bfly_verb $word" $__bfly_with_value
        set before $word
      end
    else if contains -- "$__bfly_verb $word" $__bfly_verbs
      set __bfly_verb "$__bfly_verb $word"
      set __bfly_place 0
    else
      set __bfly_place (math $__bfly_place + 1)
    end
  end
end
# __bfly_at VERB [PLACE]: whether the words so far are this verb, and PLACE words after it.
function __bfly_at
  __bfly_read
  test "$__bfly_verb" = "$argv[1]"; or return 1
  test (count $argv) -eq 1; or test "$__bfly_place" = "$argv[2]"
end
function __bfly_values
  __bfly_read
  set -l typed (string replace -r -- '^--[^=]*=' '' (commandline -ct))
  bfly values $argv --begin "$typed" $__bfly_where 2>/dev/null
end
)SHELL";

// The rest of a line that says which words may be typed.
std::string Words(const CompletionOption& option) {
  std::string out;
  if (!option.choices.empty())
    absl::StrAppend(&out, " -a ", FishQuoted(absl::StrJoin(option.choices, " ")));
  if (!option.values.empty())
    absl::StrAppend(&out, " -a ", FishQuoted(absl::StrCat("(__bfly_values ", option.values, ")")));
  return out;
}

std::string OptionLine(const std::string& line, const CompletionOption& option) {
  std::string out = line;
  for (const std::string& name : option.names)
    absl::StrAppend(&out, name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1));
  if (option.takes_value) absl::StrAppend(&out, option.file ? " -r" : " -x", Words(option));
  return absl::StrCat(out, " -d ", FishQuoted(option.help), "\n");
}

std::string Lines(const CompletionVerb& verb) {
  const std::string at = absl::StrCat("__bfly_at ", FishQuoted(verb.path));
  const std::string line = absl::StrCat("complete -c bfly -n ", FishQuoted(at));
  std::string out, options;
  bool files = false;
  int place = 0;
  for (const CompletionOption& option : verb.options) {
    if (!option.names.empty()) {
      absl::StrAppend(&options, OptionLine(line, option));
      continue;
    }
    files = files || option.file;
    if (const std::string words = Words(option); !words.empty()) {
      const std::string there = option.many ? at : absl::StrCat(at, " ", place);
      absl::StrAppend(&options, "complete -c bfly -n ", FishQuoted(there), words, "\n");
    }
    ++place;
  }
  if (!files) absl::StrAppend(&out, line, " -f\n");
  if (!verb.verbs.empty())
    absl::StrAppend(&out, line, " -a ", FishQuoted(absl::StrJoin(verb.verbs, " ")), "\n");
  return out + options;
}

}  // namespace

std::string FishCompletion(const CLI::App& app) {
  const std::vector<CompletionVerb> verbs = CompletionVerbs(app);
  std::string out = absl::StrCat("# fish completion for bfly, written by `bfly completion fish`\n",
                                 Lists(verbs), kFunctions);
  for (const CompletionVerb& verb : verbs) absl::StrAppend(&out, Lines(verb));
  return out;
}

}  // namespace bfly::control
