// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "topologies/network.h"

namespace bfly::dataplane {

// Rows first..last of a network, which may be all of them.
struct RowRange {
  Row first = 0;
  Row last = UINT32_MAX;  // inclusive; may lie behind the network's last row
  bool has(Row row) const { return row >= first && row <= last; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

}  // namespace bfly::dataplane
