// SPDX-License-Identifier: Apache-2.0
// How the nodes pick one of several ports of a direction under the virtual clock
// (topologies/port_rule.h). The choice of a node depends only on which packets came to it and when,
// so the result does not depend on how time is cut into windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly::dataplane {

class PortChoice {
 public:
  // The state of a link when a job comes to it.
  struct Occupancy {
    size_t jobs = 0;  // jobs that wait or are being sent
    // Of two links with equally many jobs, the link with the lower value is done first.
    uint64_t done_order = 0;
    bool IsBefore(const Occupancy& other) const {
      return jobs != other.jobs ? jobs < other.jobs : done_order < other.done_order;
    }
  };

  explicit PortChoice(const Network& network)
      : multiplicity_(static_cast<uint32_t>(network.multiplicity())),
        rows_(network.rows()),
        rule_(network.rule()),
        seed_(network.spec().seed),
        packets_(multiplicity_ > 1 ? static_cast<size_t>(network.stages()) * rows_ * kDirections
                                   : 0) {}

  // Whether the rule must know which jobs are on the links.
  bool serves_at_once() const {
    return multiplicity_ > 1 &&
           (rule_ == PortRule::kFirstFree || rule_ == PortRule::kLeastOccupied);
  }

  // The port within the direction for the next job of a node: a port for which usable(port) is
  // true, or any port if there is no such port. find(port) returns the port's Occupancy.
  template <typename Usable, typename Find>
  uint32_t Choose(int stage, Row row, uint32_t direction, const Usable& usable, const Find& find) {
    if (multiplicity_ == 1) return 0;
    const size_t group = (static_cast<size_t>(stage) * rows_ + row) * kDirections + direction;
    switch (rule_) {
      case PortRule::kRoundRobin: {
        auto port = static_cast<uint32_t>(packets_[group] % multiplicity_);
        for (uint32_t tried = 1; tried < multiplicity_ && !usable(port); ++tried) {
          port = port + 1 == multiplicity_ ? 0 : port + 1;
        }
        packets_[group] = port + 1;
        return port;
      }
      case PortRule::kRandom:
        return AnyOf(group, usable);
      case PortRule::kFirstFree:
        for (uint32_t port = 0; port < multiplicity_; ++port) {
          if (usable(port) && find(port).jobs == 0) return port;
        }
        for (uint32_t port = 0; port < multiplicity_; ++port) {
          if (usable(port)) return port;
        }
        return 0;
      case PortRule::kLeastOccupied:
        break;
    }
    uint32_t best = multiplicity_;
    Occupancy least;
    for (uint32_t port = 0; port < multiplicity_; ++port) {
      if (!usable(port)) continue;
      const Occupancy found = find(port);
      if (best != multiplicity_ && !found.IsBefore(least)) continue;
      best = port;
      least = found;
    }
    return best == multiplicity_ ? 0 : best;
  }

 private:
  template <typename Usable>
  uint32_t AnyOf(size_t group, const Usable& usable) {
    uint32_t count = 0;
    for (uint32_t port = 0; port < multiplicity_; ++port) count += usable(port);
    if (count == 0) return 0;
    // The counter has room for 2^28 groups with 2^36 packets each.
    uint32_t passed =
        RandomBelow(seed_, RandomStream::kPortRule, group << 36 | packets_[group]++, count);
    uint32_t port = 0;
    while (!usable(port) || passed-- > 0) ++port;
    return port;
  }

  const uint32_t multiplicity_;
  const Row rows_;
  const PortRule rule_;
  const uint64_t seed_;
  // One entry for each stage, row and direction. kRoundRobin: the next port, modulo the
  // multiplicity. kRandom: how many packets there were so far.
  std::vector<uint64_t> packets_;
};

}  // namespace bfly::dataplane
