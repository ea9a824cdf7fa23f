// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bfly::control {

// The number of requests or rows that a worker of a crew takes at a time.
inline constexpr size_t kCrewPart = 1 << 14;

}  // namespace bfly::control
