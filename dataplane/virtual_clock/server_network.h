// SPDX-License-Identifier: Apache-2.0
// A levelled network of servers, one for each link, run stage by stage in windows of time.
//
// Where stage_block.h keeps FIFO links in cache by the block, this keeps to the words of the
// theory: any server with a Serve() as FifoServer has, and a visitor that sees every link's
// arrivals and departures. It is several times slower.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/discipline.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Merges two lists in order of time; ties go to the first.
inline void MergeByTime(std::span<const Job> first, std::span<const Job> second,
                        std::vector<Job>& merged) {
  merged.clear();
  merged.reserve(first.size() + second.size());
  auto a = first.begin(), b = second.begin();
  while (a != first.end() && b != second.end()) {
    merged.push_back(a->time <= b->time ? *a++ : *b++);
  }
  merged.insert(merged.end(), a, first.end());
  merged.insert(merged.end(), b, second.end());
}

template <typename Server>
class ServerNetwork {
 public:
  // Every link gets a copy of `server`; a straight link of a network where these are free gets
  // none. With kSwitchOutput the server of the link into row h of the next level is at 2 * h.
  ServerNetwork(const Network& network, LinkModel links, const Server& server)
      : network_(network),
        links_(links),
        servers_(network.link_count(), server),
        in_(2 * static_cast<size_t>(network.rows())),
        out_(in_.size()) {
    for (int stage = 0; stage < network.stages(); ++stage) {
      for (Row row = 0; row < network.rows(); ++row) {
        const std::vector<LinkId> from = network.feeders(stage, row);
        feeders_.push_back({2 * from[0].row + from[0].port, 2 * from[1].row + from[1].port});
      }
    }
  }

  // nodes[row]: the jobs that reach the node of level 0, in order of time, all before `window_end`.
  // They are replaced by those that reach the last level before `window_end`.
  // Calls visit(stage, link, arrivals, departures) for every server; link is the network's link
  // index within its stage.
  template <typename Visit>
  void RunWindow(std::vector<std::vector<Job>>& nodes, Ticks window_end, Visit&& visit) {
    for (int stage = 0; stage < network_.stages(); ++stage) {
      Split(nodes);
      const size_t base = static_cast<size_t>(stage) * in_.size();
      const auto serve = [&](size_t link, std::span<const Job> arrivals, std::vector<Job>& left) {
        left.clear();
        servers_[base + link].Serve(arrivals, window_end, left);
        visit(stage, link, arrivals, std::span<const Job>(left));
      };
      if (links_ == LinkModel::kEdge) {
        for (size_t link = 0; link < in_.size(); ++link) {
          if (IsFree(stage, link)) {
            out_[link].clear();
            for (const Job& job : in_[link]) out_[link].push_back(job.Left(job.time));
          } else {
            serve(link, in_[link], out_[link]);
          }
        }
      }
      for (Row head = 0; head < network_.rows(); ++head) {
        const auto& [a, b] = feeders_[static_cast<size_t>(stage) * network_.rows() + head];
        if (links_ == LinkModel::kEdge) {
          MergeByTime(out_[a], out_[b], nodes[head]);
        } else {
          MergeByTime(in_[a], in_[b], merged_);
          serve(2 * static_cast<size_t>(head), merged_, nodes[head]);
        }
      }
    }
  }

  // Whether a packet crosses the link in no time.
  bool IsFree(int stage, size_t link) const {
    const Row row = static_cast<Row>(link / 2);
    return network_.straight_is_free() &&
           network_.next_row(stage, row, static_cast<int>(link % 2)) == row;
  }
  uint64_t jobs() const {
    uint64_t sum = 0;
    for (const Server& server : servers_) sum += server.jobs();
    return sum;
  }
  size_t bytes() const { return servers_.size() * sizeof(Server); }  // without what is queued

 private:
  void Split(const std::vector<std::vector<Job>>& nodes) {
    for (size_t row = 0; row < nodes.size(); ++row) {
      in_[2 * row].clear();
      in_[2 * row + 1].clear();
      for (const Job& job : nodes[row]) in_[2 * row + (job.tag >> 63)].push_back(job);
    }
  }

  const Network& network_;
  const LinkModel links_;
  std::vector<Server> servers_;                   // by link index
  std::vector<std::array<uint32_t, 2>> feeders_;  // by stage and head: the two links into it
  std::vector<std::vector<Job>> in_, out_;        // of one stage, by link
  std::vector<Job> merged_;
};

}  // namespace bfly::dataplane
