// SPDX-License-Identifier: Apache-2.0
// How links, rows, rates and times are written on the command line: one syntax for every verb.
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
// several times. `numbers` gets every number of them in the order written, at most 2^20 in all.
CLI::Option* AddRanges(CLI::App& verb, const std::string& name, std::vector<uint32_t>& numbers,
                       const std::string& help);

// Rewrites "20k", "1.5M" and "20.0k/s", as bfly prints rates, to a plain number. Letters k, M and G
// stand for 1e3, 1e6 and 1e9.
CLI::Validator RatePerSecond();

// Rewrites "50us", "1.5ms", "2s", "5min" and "1h" to a plain number of seconds. A number without a
// unit counts in `unit`, one of the same names, or is refused where `unit` is empty.
CLI::Validator TimeInSeconds(const std::string& unit = "s");
// The same to a plain number of milliseconds, rounded to the next whole one.
CLI::Validator TimeInMilliseconds();

// The words of a link selector as the shell parted them, "'s1 r4 p1'" or "s1 r4 p1", and the older
// form of one link, "1 4 1" or "1,4,1" (stage, row, port). InvalidArgument says what is wrong.
absl::StatusOr<v1::LinkOverride> SelectorOf(const std::vector<std::string>& words);

// The same of exactly one link.
absl::StatusOr<v1::LinkRef> OneLink(const std::vector<std::string>& words);

// How a link is written: "s1 r4 p1". SelectorOf reads it.
std::string LinkText(uint32_t stage, uint32_t row, uint32_t port);

}  // namespace bfly::control
