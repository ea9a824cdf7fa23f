// SPDX-License-Identifier: Apache-2.0
// Lists of ranges in topology files and on the command line: "0-3,8".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

struct Range {
  uint32_t first = 0;
  uint32_t last = 0;  // inclusive, >= first
  friend bool operator==(const Range&, const Range&) = default;
};

inline constexpr absl::string_view kRangesSyntax =
    "numbers and ranges separated by commas, such as 0-3,8";

// So many characters a range may have, spaces included. The longest that says something without
// them has 21, so a list that is kept takes no more memory than its ranges are worth.
inline constexpr size_t kLongestRange = 64;

// Returns the ranges in the order written; they may overlap. InvalidArgument quotes the wrong
// piece.
absl::StatusOr<std::vector<Range>> ParseRanges(absl::string_view text);

// InvalidArgument: a number is above `largest` (it is called `what` in the message, "row 16 is
// outside 0..15") or comes twice. The check looks at the ends of ranges only, so long ranges cost
// nothing.
absl::Status CheckRanges(const std::vector<Range>& ranges, uint32_t largest,
                         absl::string_view what);

// How many numbers the ranges hold.
uint64_t CountOf(const std::vector<Range>& ranges);

// Every number of ParseRanges(text), in order, or the error of CheckRanges.
absl::StatusOr<std::vector<uint32_t>> ExpandRanges(absl::string_view text, uint32_t largest,
                                                   absl::string_view what);

// "0-3,8" of {0, 1, 2, 3, 8}; numbers must ascend.
std::string FormatRanges(const std::vector<uint32_t>& numbers);

}  // namespace bfly::control
