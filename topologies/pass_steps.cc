// SPDX-License-Identifier: Apache-2.0
#include "topologies/pass_steps.h"

#include <algorithm>
#include <numeric>

namespace bfly {
namespace {

// Returns, for each hop, the last hop before it that set the same position of the address, or -1.
std::vector<int> HopsBefore(const Network& network) {
  std::vector<int> before(network.hops(), -1);
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int position = network.position_of_stage(network.stage_of_hop(hop));
    for (int earlier = 0; earlier < hop; ++earlier) {
      if (network.position_of_stage(network.stage_of_hop(earlier)) == position) {
        before[hop] = earlier;
      }
    }
  }
  return before;
}

// Returns the rows of every path, by hop and path, where they cannot be told from a path's end and
// its tag: behind the first stage wiring is random too. Otherwise returns nothing.
std::vector<std::vector<Row>> RowsOfPaths(const Network& network,
                                          const std::vector<TaggedPath>& paths) {
  std::vector<std::vector<Row>> rows;
  bool random = false;
  for (int stage = 1; stage < network.stages(); ++stage) {
    random = random || !network.wiring(stage).table.empty();
  }
  if (!random) return rows;
  rows.resize(network.hops(), std::vector<Row>(paths.size()));
  for (size_t i = 0; i < paths.size(); ++i) {
    Row row = paths[i].input;
    for (int hop = 0; hop < network.hops(); ++hop) {
      rows[hop][i] = row;
      row = network.next_row(network.stage_of_hop(hop), row, PortOfHop(network, paths[i].tag, hop));
    }
  }
  return rows;
}

constexpr size_t kNoLink = ~size_t{0};  // a packet that keeps its row on the hypercube

// Packets in the order in which they reach the links of the next stage.
class ArrivalTimes {
 public:
  explicit ArrivalTimes(size_t packets) : time_(packets), order_(packets), next_(packets) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  // Every packet waits for its link and crosses it.
  template <typename LinkOf>
  void Cross(std::vector<uint32_t>& free_at, const LinkOf& link_of) {
    std::fill(free_at.begin(), free_at.end(), 0u);
    for (const uint32_t packet : order_) {
      const size_t link = link_of(packet);
      if (link == kNoLink) continue;
      uint32_t& free = free_at[link];
      time_[packet] = free = std::max(free, time_[packet]) + 1;
      last_ = std::max(last_, free);
    }
    Sort();
  }
  uint32_t last() const { return last_; }

 private:
  // Sorts by time. Packets with the same time keep their order.
  void Sort() {
    starts_.assign(last_ + 2, 0);
    for (const uint32_t time : time_) ++starts_[time + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    for (uint32_t packet = 0; packet < time_.size(); ++packet) {
      next_[starts_[time_[packet]]++] = packet;
    }
    order_.swap(next_);
  }

  std::vector<uint32_t> time_, order_, next_, starts_;
  uint32_t last_ = 0;
};

}  // namespace

uint64_t StepsOfPass(const Network& network, const std::vector<TaggedPath>& paths, bool backward) {
  if (paths.empty()) return 0;
  const int hops = network.hops();
  const auto ports = static_cast<size_t>(network.ports());
  std::vector<Row> row(paths.size());
  std::vector<uint32_t> free_at(ports * network.rows());
  ArrivalTimes arrivals(paths.size());
  if (!backward) {
    for (size_t i = 0; i < paths.size(); ++i) row[i] = paths[i].input;
    for (int hop = 0; hop < hops; ++hop) {
      const int stage = network.stage_of_hop(hop);
      arrivals.Cross(free_at, [&](uint32_t i) {
        const int port = PortOfHop(network, paths[i].tag, hop);
        const Row from = row[i];
        row[i] = network.next_row(stage, from, port);
        if (row[i] == from && network.straight_is_free()) return kNoLink;
        return ports * from + static_cast<size_t>(port);
      });
    }
    return arrivals.last();
  }
  const std::vector<std::vector<Row>> rows = RowsOfPaths(network, paths);
  for (int hop = hops - 1; hop >= 0 && !rows.empty(); --hop) {
    arrivals.Cross(free_at, [&](uint32_t i) {
      return ports * rows[hop][i] + static_cast<size_t>(PortOfHop(network, paths[i].tag, hop));
    });
  }
  if (!rows.empty()) return arrivals.last();
  const std::vector<int> before = HopsBefore(network);
  for (size_t i = 0; i < paths.size(); ++i) row[i] = OutputOfTag(network, paths[i].tag);
  for (int hop = hops - 1; hop >= 0; --hop) {
    const int position = network.position_of_stage(network.stage_of_hop(hop));
    const Row mask = MaskOfPosition(position, network.dimension());
    arrivals.Cross(free_at, [&](uint32_t i) {
      const auto& [input, tag] = paths[i];
      // Only a first stage is wired at random. Behind it, positions that no hop has set yet are as
      // in the second row of the path.
      const Row second = network.next_row(0, input, PortOfHop(network, tag, 0));
      const bool set = before[hop] < 0
                           ? (second & mask) != 0
                           : network.direction_of(PortOfHop(network, tag, before[hop])) != 0;
      const Row to = row[i];
      row[i] = hop == 0 ? input : set ? to | mask : to & ~mask;
      if (row[i] == to && network.straight_is_free()) return kNoLink;
      return ports * row[i] + static_cast<size_t>(PortOfHop(network, tag, hop));
    });
  }
  return arrivals.last();
}

}  // namespace bfly
