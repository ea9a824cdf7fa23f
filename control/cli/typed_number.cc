// SPDX-License-Identifier: Apache-2.0
#include "control/cli/typed_number.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace bfly::control {

TypedRanges TypedNumber(absl::string_view digits, uint32_t count) {
  uint32_t number = 0;
  const bool plain =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (!plain || (digits.size() > 1 && digits[0] == '0')) return {};
  if (!absl::SimpleAtoi(digits, &number) || number >= count) return {};
  return {{number, number}};
}

TypedRanges BeginWith(absl::string_view digits, uint32_t count) {
  if (count == 0) return {};
  if (digits.empty()) return {{0, count - 1}};
  const TypedRanges number = TypedNumber(digits, count);
  if (number.empty() || number[0].first == 0) return number;
  // One more digit at a time: 7, then 70 to 79, then 700 to 799.
  TypedRanges ranges;
  uint64_t width = 1;
  for (uint64_t first = number[0].first; first < count; first *= 10, width *= 10) {
    const uint64_t last = std::min<uint64_t>(first + width - 1, count - 1);
    ranges.emplace_back(static_cast<uint32_t>(first), static_cast<uint32_t>(last));
  }
  return ranges;
}

}  // namespace bfly::control
