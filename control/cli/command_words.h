// SPDX-License-Identifier: Apache-2.0
// The command line of `bfly lab exec HOST -- CMD...`. Its words and its exit codes are those of a
// command of the user, so the parser must change neither.
#pragma once

#include <string>
#include <vector>

namespace bfly::control {

// The exit code of `bfly lab exec` if bfly fails, wrong usage included. As env(1) has it.
inline constexpr int kExitOwnError = 125;

// Whether `words`, the command line without the program's name, are of `bfly lab exec`.
inline bool NamesLabExec(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "lab" && words[1] == "exec";
}

// Stands before a word that the parser must leave whole.
inline constexpr char kWhole = '\x01';

// CLI11 takes the word "[a,b]" of a command for two words, "a" and "b". Returns `words` as the
// parser gets them: the host and the words of the command that begin with '[', or with the mark
// itself, have the mark before them.
inline std::vector<std::string> WithMarks(std::vector<std::string> words) {
  if (!NamesLabExec(words)) return words;
  bool behind_options = false;
  for (size_t i = 2; i < words.size(); ++i) {
    const bool value_of_option = !behind_options && words[i - 1].starts_with("--");
    if (words[i] == "--") behind_options = true;
    const bool changed = words[i].starts_with('[') || words[i].starts_with(kWhole);
    if (changed && !value_of_option) words[i].insert(0, 1, kWhole);
  }
  return words;
}

// The word as it was typed.
inline std::string WithoutMark(const std::string& word) {
  return word.starts_with(kWhole) ? word.substr(1) : word;
}

}  // namespace bfly::control
