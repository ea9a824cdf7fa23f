// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/ranges.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {
namespace {

// Takes digits only; SimpleAtoi would also take a sign.
bool ParseNumber(absl::string_view text, uint32_t* number) {
  text = absl::StripAsciiWhitespace(text);
  return !text.empty() && absl::ascii_isdigit(text[0]) && absl::SimpleAtoi(text, number);
}

absl::Status Wrong(absl::string_view piece) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Quotable(piece), "\" is not a range (allowed: ", kRangesSyntax, ")"));
}

}  // namespace

absl::StatusOr<std::vector<Range>> ParseRanges(absl::string_view text) {
  std::vector<Range> ranges;
  for (absl::string_view piece : absl::StrSplit(text, ',')) {
    if (piece.size() > kLongestRange) {
      return absl::InvalidArgumentError(absl::StrCat("\"", Quotable(piece),
                                                     "\" is longer than the ", kLongestRange,
                                                     " characters that a range may have"));
    }
    const std::vector<absl::string_view> ends = absl::StrSplit(piece, absl::MaxSplits('-', 1));
    Range range;
    if (!ParseNumber(ends.front(), &range.first) || !ParseNumber(ends.back(), &range.last)) {
      return Wrong(piece);
    }
    if (range.last < range.first) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", Quotable(piece), "\" runs backwards, write ", range.last, "-", range.first));
    }
    ranges.push_back(range);
  }
  return ranges;
}

absl::Status CheckRanges(const std::vector<Range>& ranges, uint32_t largest,
                         absl::string_view what) {
  std::vector<Range> ascending = ranges;
  std::sort(ascending.begin(), ascending.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (size_t i = 0; i < ascending.size(); ++i) {
    if (ascending[i].last > largest) {
      const uint64_t outside = std::max<uint64_t>(ascending[i].first, uint64_t{largest} + 1);
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", outside, " is outside 0..", largest));
    }
    if (i > 0 && ascending[i].first <= ascending[i - 1].last) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", ascending[i].first, " is listed twice"));
    }
  }
  return absl::OkStatus();
}

uint64_t CountOf(const std::vector<Range>& ranges) {
  uint64_t count = 0;
  for (const Range& range : ranges) count += uint64_t{range.last} - range.first + 1;
  return count;
}

absl::StatusOr<std::vector<uint32_t>> ExpandRanges(absl::string_view text, uint32_t largest,
                                                   absl::string_view what) {
  const absl::StatusOr<std::vector<Range>> ranges = ParseRanges(text);
  if (!ranges.ok()) return ranges.status();
  if (const absl::Status status = CheckRanges(*ranges, largest, what); !status.ok()) return status;
  std::vector<uint32_t> numbers;
  numbers.reserve(CountOf(*ranges));
  for (const Range& range : *ranges) {
    for (uint64_t number = range.first; number <= range.last; ++number) {
      numbers.push_back(static_cast<uint32_t>(number));
    }
  }
  return numbers;
}

std::string FormatRanges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", numbers[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace bfly::control
