// SPDX-License-Identifier: Apache-2.0
// Answers a mistyped verb or option with the closest one that exists.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace bfly::control {

// The least number of characters to insert, remove, replace or swap with a neighbour in order to
// turn one word into the other (Damerau-Levenshtein distance, optimal string alignment).
size_t EditDistance(const std::string& a, const std::string& b);

// "there is no verb `bfly cuonters`; did you mean `bfly counters`?" for the first of `words` (the
// command line without the program's name) that is neither a verb nor an option at its place. Lists
// every verb of the help if none is close. Empty if every word is known.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace bfly::control
