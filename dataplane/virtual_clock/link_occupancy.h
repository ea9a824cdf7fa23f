// SPDX-License-Identifier: Apache-2.0
// How large a share of the time links hold 0, 1, 2, ... packets.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/packet.h"
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
  // The same over the links that two nodes share (LinkModel::kSwitchOutput). The link into row h of
  // a stage was added at port 0 of row h.
  std::vector<double> SharesOfOutputs(const Network& network) const;
  // The mean over the time of the number of packets at all links.
  double MeanPackets() const;

 private:
  struct State {
    uint64_t packets = 0;
    Ticks since = 0;
    std::vector<Ticks> time;  // the time for each number of packets; empty until the first event
    TickSum packet_time = 0;  // the time spent here, summed over the packets
  };

  void Spend(State& state, Ticks until) const;
  std::vector<double> SharesOf(const std::function<bool(size_t)>& is_counted) const;

  const Ticks start_;
  const Ticks end_;
  std::vector<State> links_;
};

}  // namespace bfly::dataplane
