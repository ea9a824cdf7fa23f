// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/boundary.h"

#include <algorithm>

namespace bfly::dataplane {

void Boundary::Grow(size_t wanted) {
  // for_overwrite: the arena is written before it is read, and clearing it would cost more than
  // filling it.
  const size_t capacity = std::max(wanted + wanted / 4, size_t{1024});
  auto grown = std::make_unique_for_overwrite<VirtualPacket[]>(capacity);
  std::copy_n(arena_.get(), used_, grown.get());
  arena_ = std::move(grown);
  capacity_ = capacity;
}

}  // namespace bfly::dataplane
