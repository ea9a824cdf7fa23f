// SPDX-License-Identifier: Apache-2.0
// A levelled network of servers, one for each link, run stage by stage in windows of time.
//
// stage_block.h runs FIFO links block by block in cache. This network follows the words of the
// theory instead: it runs any server of servers.h, and shows every link's arrivals and departures
// to a visitor. It is several times slower.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/port_choice.h"
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
  // none. With kSwitchOutput, which needs one port a direction, the server of the link into row h
  // of the next level is at 2 * h.
  ServerNetwork(const Network& network, LinkModel links, const Server& server)
      : network_(network),
        links_(links),
        ports_(static_cast<size_t>(network.ports())),
        choice_(network),
        servers_(network.link_count(), server),
        in_(ports_ * network.rows()),
        out_(in_.size()) {
    for (int stage = 0; stage < network.stages(); ++stage) {
      for (Row row = 0; row < network.rows(); ++row) {
        std::vector<uint32_t> from;
        for (const LinkId& link : network.feeders(stage, row)) {
          from.push_back(
              static_cast<uint32_t>(network.link_index(link) - network.link_index({stage, 0, 0})));
        }
        feeders_.push_back(std::move(from));
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
      const size_t base = static_cast<size_t>(stage) * in_.size();
      for (size_t link = 0; link < in_.size(); ++link) {
        in_[link].clear();
        out_[link].clear();
      }
      Split(stage, nodes);
      // What left earlier in the window stands in `left` already.
      const auto serve = [&](size_t link, std::span<const Job> arrivals, std::vector<Job>& left) {
        servers_[base + link].Serve(choice_.serves_at_once() ? std::span<const Job>() : arrivals,
                                    window_end, left);
        visit(stage, link, arrivals, std::span<const Job>(left));
      };
      if (links_ == LinkModel::kEdge) {
        for (size_t link = 0; link < in_.size(); ++link) {
          if (IsFree(stage, link)) {
            for (const Job& job : in_[link]) out_[link].push_back(job.Left(job.time));
          } else {
            serve(link, in_[link], out_[link]);
          }
        }
      }
      for (Row head = 0; head < network_.rows(); ++head) {
        const std::vector<uint32_t>& from =
            feeders_[static_cast<size_t>(stage) * network_.rows() + head];
        if (links_ == LinkModel::kEdge) {
          Merge(out_, from, nodes[head]);
        } else {
          MergeByTime(in_[from[0]], in_[from[1]], merged_);
          nodes[head].clear();
          serve(2 * static_cast<size_t>(head), merged_, nodes[head]);
        }
      }
    }
  }

  // Whether a packet crosses the link in no time.
  bool IsFree(int stage, size_t link) const {
    const Row row = static_cast<Row>(link / ports_);
    return network_.straight_is_free() &&
           network_.next_row(stage, row, static_cast<int>(link % ports_)) == row;
  }
  uint64_t jobs() const {
    uint64_t sum = 0;
    for (const Server& server : servers_) sum += server.jobs();
    return sum;
  }
  size_t bytes() const { return servers_.size() * sizeof(Server); }  // without what is queued

 private:
  // Jobs to the links they take. A rule that must know what is on the links has them served one by
  // one, in order of time.
  void Split(int stage, const std::vector<std::vector<Job>>& nodes) {
    const size_t base = static_cast<size_t>(stage) * in_.size();
    for (Row row = 0; row < nodes.size(); ++row) {
      for (const Job& job : nodes[row]) {
        const uint32_t direction = static_cast<uint32_t>(job.tag >> 63);
        const size_t first = ports_ * row + ports_ / kDirections * direction;
        const size_t link = first + choice_.Choose(stage, row, direction, [&](uint32_t port) {
          Server& server = servers_[base + first + port];
          const size_t jobs = server.JobsAt(job.time, out_[first + port]);
          return PortChoice::Occupancy{jobs, server.done_order()};
        });
        in_[link].push_back(job);
        if (!choice_.serves_at_once()) continue;
        servers_[base + link].Serve(std::span<const Job>(&job, 1), job.time, out_[link]);
      }
    }
  }

  void Merge(const std::vector<std::vector<Job>>& links, const std::vector<uint32_t>& from,
             std::vector<Job>& merged) {
    if (from.size() == 2) return MergeByTime(links[from[0]], links[from[1]], merged);
    merged.clear();
    for (const uint32_t link : from) {
      merged.insert(merged.end(), links[link].begin(), links[link].end());
    }
    // Ties go to the first.
    std::stable_sort(merged.begin(), merged.end(),
                     [](const Job& a, const Job& b) { return a.time < b.time; });
  }

  const Network& network_;
  const LinkModel links_;
  const size_t ports_;  // of a node
  PortChoice choice_;
  std::vector<Server> servers_;                 // by link index
  std::vector<std::vector<uint32_t>> feeders_;  // by stage and head: the links into it
  std::vector<std::vector<Job>> in_, out_;      // of one stage, by link
  std::vector<Job> merged_;
};

}  // namespace bfly::dataplane
