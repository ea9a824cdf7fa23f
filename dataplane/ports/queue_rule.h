// SPDX-License-Identifier: Apache-2.0
// Which frames a device is to put at which queue pair. The code is pure.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/frames/mac_address.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Frames go to `queue` if their `field` is `address` in the bits of `mask`.
struct QueueRule {
  enum class Field { kDestination, kSource };
  Field field = Field::kSource;
  MacAddress address = 0;
  MacAddress mask = 0;
  uint16_t queue = 0;
};

// Rules that are of use together only.
using QueueRules = std::vector<QueueRule>;

struct QueueOfRow {
  Row row = 0;
  uint16_t queue = 0;
};

// Bring frames to a queue pair by the row that their source address names. `rows` are in ascending
// order. No frame fits two rules.

// Few rules that look at some bits of the address. Frames of rows that are not in `rows` may come
// to any queue pair of the rules.
QueueRules RulesByRowBits(const std::vector<QueueOfRow>& rows);
// One rule for each row, for devices that compare whole addresses only.
QueueRules RulesByRow(const std::vector<QueueOfRow>& rows);

// Bring frames of a trunk to the queue pair that they were sent on, which their destination names.
QueueRules RulesOfTrunk(int queues);

}  // namespace bfly::dataplane
