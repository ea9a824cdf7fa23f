// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/later_packets.h"

#include <bit>
#include <utility>

namespace bfly::dataplane {

size_t LaterPackets::CountUntil(uint64_t now) const {
  size_t from = begin_, to = end_;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (At(middle).arrival <= now) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from - begin_;
}

void LaterPackets::Grow(size_t count) {
  const size_t capacity = std::bit_ceil(std::max<size_t>(count, 512));
  auto ring = std::make_unique_for_overwrite<LaterPacket[]>(capacity);
  for (size_t number = begin_; number != end_; ++number) {
    ring[number & (capacity - 1)] = At(number);
  }
  ring_ = std::move(ring);
  capacity_ = capacity;
}

}  // namespace bfly::dataplane
