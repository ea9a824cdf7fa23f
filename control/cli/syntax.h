// SPDX-License-Identifier: Apache-2.0
// The syntax of links, rows, rates and times on the command line, which all verbs share.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// An option that takes numbers and ranges separated by commas, such as 0-3,8, and may be given
// several times. `numbers` gets all numbers in the order written, at most 2^20 in total.
CLI::Option* AddRanges(CLI::App& verb, const std::string& name, std::vector<uint32_t>& numbers,
                       const std::string& help);

// Replaces "20k", "1.5M" or "20.0k/s", which is how bfly prints rates, by a plain number. The
// letters k, M and G stand for 1e3, 1e6 and 1e9.
CLI::Validator RatePerSecond();

// Replaces "50us", "1.5ms", "2s", "5min" or "1h" by a plain number of seconds. A number without a
// unit counts in `unit`, which is one of these names; if `unit` is empty such a number is refused.
CLI::Validator TimeInSeconds(const std::string& unit = "s");
// The same for milliseconds, rounded to a whole number.
CLI::Validator TimeInMilliseconds();

// Reads a link selector from words as the shell split them: "'s1 r4 p1'" or "s1 r4 p1", or the
// older form of one link, "1 4 1" or "1,4,1" (stage, row, port). InvalidArgument says what is
// wrong. No words are wrong too.
absl::StatusOr<v1::LinkOverride> SelectorOf(const std::vector<std::string>& words);

// The same for exactly one link.
absl::StatusOr<v1::LinkRef> OneLink(const std::vector<std::string>& words);

// How a link is written: "s1 r4 p1". SelectorOf reads it.
std::string LinkText(uint32_t stage, uint32_t row, uint32_t port);

// Ranges of levels and rows, such as 2 and 0-3.
struct NodeSelector {
  std::string levels;
  std::string rows;
};
// The words "2 6", "2 0-3" or "l2 r0-3". InvalidArgument says what is wrong.
absl::StatusOr<NodeSelector> NodesOf(const std::vector<std::string>& words);

}  // namespace bfly::control
