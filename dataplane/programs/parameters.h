// SPDX-License-Identifier: Apache-2.0
// What a caller says to a program besides the circuits it wants.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

struct CollisionOptions {
  uint32_t c = 0;           // paths and circuits a link may have, 1..254
  uint32_t c_disk = 0;      // reads: those a disk may have, 1..254
  uint32_t max_rounds = 0;  // 0: until it is done or can select nothing any more
};

struct MinimumOptions {
  // A path chosen that has a link without room gives way to the request's other one, if that has.
  bool other_if_full = false;
};

}  // namespace bfly::dataplane
