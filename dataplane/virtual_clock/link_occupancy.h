// SPDX-License-Identifier: Apache-2.0
// For what share of the time links hold how many packets.
#pragma once

#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class LinkOccupancy {
 public:
  static constexpr size_t kLargest = 15;  // more packets count as this many

  // Counts in [start, end).
  LinkOccupancy(size_t links, Ticks start, Ticks end) : start_(start), end_(end), links_(links) {}

  size_t links() const { return links_.size(); }

  // What reached and what left a link in the next window, both in order of time. A packet that
  // leaves when another comes is gone before it.
  void Add(size_t link, std::span<const Job> arrivals, std::span<const Job> departures);

  // Share of the time with 0, 1, ... kLargest packets, over all cross links or all straight ones
  // that take time; empty if there are none. What happens after the last event counts as well.
  std::vector<double> Shares(const Network& network, bool cross) const;

 private:
  struct State {
    uint64_t packets = 0;
    Ticks since = 0;
    std::vector<Ticks> time;  // by number of packets; empty until the first event
  };

  void Spend(State& state, Ticks until) const;

  const Ticks start_;
  const Ticks end_;
  std::vector<State> links_;
};

}  // namespace bfly::dataplane
