// SPDX-License-Identifier: Apache-2.0
// How large a share of the time links hold 0, 1, 2, ... packets.
#pragma once

#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class LinkOccupancy {
 public:
  static constexpr size_t kLargest = 15;  // more packets count as this many

  // Counts the time in [start, end).
  LinkOccupancy(size_t links, Ticks start, Ticks end) : start_(start), end_(end), links_(links) {}

  size_t links() const { return links_.size(); }

  // Adds the packets that reached and the packets that left a link in the next window, both in
  // order of time. If one packet leaves when another comes, it counts as gone before the other
  // comes.
  void Add(size_t link, std::span<const Job> arrivals, std::span<const Job> departures);

  // The shares of the time with 0, 1, ... kLargest packets, over all cross links or all straight
  // links that take time; empty if there are no such links. The time after the last event counts as
  // well.
  std::vector<double> Shares(const Network& network, bool cross) const;

 private:
  struct State {
    uint64_t packets = 0;
    Ticks since = 0;
    std::vector<Ticks> time;  // the time for each number of packets; empty until the first event
  };

  void Spend(State& state, Ticks until) const;

  const Ticks start_;
  const Ticks end_;
  std::vector<State> links_;
};

}  // namespace bfly::dataplane
