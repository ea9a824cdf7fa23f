// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/link_occupancy.h"

#include <algorithm>

namespace bfly::dataplane {

void LinkOccupancy::Spend(State& state, Ticks until) const {
  if (state.time.empty()) state.time.resize(kLargest + 1);
  const Ticks from = std::clamp(state.since, start_, end_);
  const Ticks to = std::clamp(until, start_, end_);
  state.time[std::min<uint64_t>(state.packets, kLargest)] += to - from;
  state.packet_time += TickSum{state.packets} * (to - from);
  state.since = until;
}

void LinkOccupancy::Add(size_t link, std::span<const Job> arrivals,
                        std::span<const Job> departures) {
  State& state = links_[link];
  auto arrival = arrivals.begin();
  auto departure = departures.begin();
  while (arrival != arrivals.end() || departure != departures.end()) {
    const bool leaves = arrival == arrivals.end() ||
                        (departure != departures.end() && departure->time <= arrival->time);
    Spend(state, leaves ? departure->time : arrival->time);
    if (leaves) {
      --state.packets;
      ++departure;
    } else {
      ++state.packets;
      ++arrival;
    }
  }
}

std::vector<double> LinkOccupancy::Shares(const Network& network, bool cross) const {
  return SharesOf([&](size_t index) {
    const LinkId id = network.link_at(index);
    const bool is_cross = network.next_row(id.stage, id.row, id.port) != id.row;
    return is_cross == cross && (is_cross || !network.straight_is_free());
  });
}

std::vector<double> LinkOccupancy::SharesOfOutputs(const Network& network) const {
  return SharesOf([&](size_t index) { return network.link_at(index).port == 0; });
}

double LinkOccupancy::MeanPackets() const {
  TickSum sum = 0;
  for (State state : links_) {
    Spend(state, end_);
    sum += state.packet_time;
  }
  return static_cast<double>(sum) / static_cast<double>(end_ - start_);
}

std::vector<double> LinkOccupancy::SharesOf(const std::function<bool(size_t)>& is_counted) const {
  std::vector<double> shares(kLargest + 1);
  double total = 0;
  for (size_t index = 0; index < links_.size(); ++index) {
    if (!is_counted(index)) continue;
    State state = links_[index];
    Spend(state, end_);
    for (size_t n = 0; n <= kLargest; ++n) shares[n] += static_cast<double>(state.time[n]);
    total += static_cast<double>(end_ - start_);
  }
  if (total == 0) return {};
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace bfly::dataplane
