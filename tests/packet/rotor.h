// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "dataplane/slots/schedule_config.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// Slot k leads from row i to row i + k + 1 modulo the rows: rows - 1 slots reach every other row.
inline ScheduleConfig Rotor(const Network& network, double slot_ns) {
  ScheduleConfig config;
  for (Row k = 1; k < network.rows(); ++k) {
    std::vector<Tag>& tags = config.tags.emplace_back();
    for (Row row = 0; row < network.rows(); ++row) {
      tags.push_back(GreedyTag(network, row, (row + k) % network.rows()));
    }
  }
  config.slot_ns = slot_ns;
  config.guard_ns = slot_ns / 20;
  config.id = 1;
  return config;
}

}  // namespace bfly::dataplane
