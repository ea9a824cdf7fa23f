// SPDX-License-Identifier: Apache-2.0
// Answers a mistyped verb or option with the closest one there is.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace bfly::control {

// The number of characters to insert, remove, exchange or swap with their neighbour that turns one
// word into the other (Damerau-Levenshtein distance, optimal string alignment).
size_t EditDistance(const std::string& a, const std::string& b);

// "there is no verb `bfly cuonters`; did you mean `bfly counters`?" for the first of `words` (the
// command line without the program's name) that is no verb or no option where it stands. Names
// every verb there is if none is close. Empty if each word is known.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace bfly::control
