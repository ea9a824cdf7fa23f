// SPDX-License-Identifier: Apache-2.0
// Rules that say at which queue pair a device puts which frames. The functions are pure.
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

// A set of rules. The rules are only of use together.
using QueueRules = std::vector<QueueRule>;

struct QueueOfRow {
  Row row = 0;
  uint16_t queue = 0;
};

// The next two functions return rules that bring frames to a queue pair by the row that the source
// address of a frame names. `rows` are in ascending order. No frame fits two rules.

// Returns few rules, which look at some bits of the address. Frames of rows that are not in `rows`
// may come to any queue pair of the rules.
QueueRules RulesByRowBits(const std::vector<QueueOfRow>& rows);
// Returns one rule for each row, for devices that can only compare whole addresses.
QueueRules RulesByRow(const std::vector<QueueOfRow>& rows);

// Returns rules that bring frames of a trunk to the queue pair on which they were sent. The
// destination of a frame names that queue pair.
QueueRules RulesOfTrunk(int queues);

}  // namespace bfly::dataplane
