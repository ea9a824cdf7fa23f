// SPDX-License-Identifier: Apache-2.0
// How the nodes pick one of several ports of a direction under the virtual clock
// (topologies/port_rule.h). What a node picks depends on what came to it and when, and on nothing
// else, so the result does not depend on how time is cut into windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly::dataplane {

class PortChoice {
 public:
  // What a job finds at a link when it comes.
  struct Occupancy {
    size_t jobs = 0;          // waiting or being sent
    uint64_t done_order = 0;  // of two links with equally many jobs, the lower one is done first
  };

  explicit PortChoice(const Network& network)
      : multiplicity_(static_cast<uint32_t>(network.multiplicity())),
        rows_(network.rows()),
        rule_(network.rule()),
        seed_(network.spec().seed),
        packets_(multiplicity_ > 1 ? static_cast<size_t>(network.stages()) * rows_ * kDirections
                                   : 0) {}

  // Whether the rule must know what is on the links.
  bool serves_at_once() const {
    return multiplicity_ > 1 &&
           (rule_ == PortRule::kFirstFree || rule_ == PortRule::kLeastOccupied);
  }

  // The port within the direction for the next job of a node; find(port) says what is there.
  template <typename Find>
  uint32_t Choose(int stage, Row row, uint32_t direction, const Find& find) {
    if (multiplicity_ == 1) return 0;
    const size_t group = (static_cast<size_t>(stage) * rows_ + row) * kDirections + direction;
    switch (rule_) {
      case PortRule::kRoundRobin:
        return static_cast<uint32_t>(packets_[group]++ % multiplicity_);
      case PortRule::kRandom:
        // 2^28 groups, 2^36 packets of each.
        return RandomBelow(seed_, RandomStream::kPortRule, group << 36 | packets_[group]++,
                           multiplicity_);
      case PortRule::kFirstFree:
        for (uint32_t port = 0; port < multiplicity_; ++port) {
          if (find(port).jobs == 0) return port;
        }
        return 0;
      case PortRule::kLeastOccupied:
        break;
    }
    uint32_t best = 0;
    Occupancy least = find(0);
    for (uint32_t port = 1; port < multiplicity_; ++port) {
      const Occupancy found = find(port);
      if (found.jobs > least.jobs) continue;
      if (found.jobs == least.jobs && found.done_order >= least.done_order) continue;
      best = port;
      least = found;
    }
    return best;
  }

 private:
  const uint32_t multiplicity_;
  const Row rows_;
  const PortRule rule_;
  const uint64_t seed_;
  std::vector<uint64_t> packets_;  // so far, by stage, row and direction
};

}  // namespace bfly::dataplane
