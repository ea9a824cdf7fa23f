// SPDX-License-Identifier: Apache-2.0
// Numbers of which only the first digits have been typed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::control {

// Ranges [first, last] of numbers, in ascending order.
using TypedRanges = std::vector<std::pair<uint32_t, uint32_t>>;

// The numbers below `count` whose decimal digits begin with `digits`; "" begins all of them. None
// if `digits` holds anything but digits.
TypedRanges BeginWith(absl::string_view digits, uint32_t count);

// The number itself if it is below `count`, else nothing. A number has no leading zero here.
TypedRanges TypedNumber(absl::string_view digits, uint32_t count);

}  // namespace bfly::control
