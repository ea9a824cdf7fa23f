// SPDX-License-Identifier: Apache-2.0
// A levelled network of servers, one for each link, run stage by stage in windows of time.
//
// stage_group.h runs plain links block by block in cache. This network follows the theory literally
// instead: it runs any server of servers.h, and shows every link's arrivals and departures to a
// visitor. It is several times slower. Nodes are independent of one another within a stage, so
// workers share the rows, and the result does not depend on how many there are.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/job.h"
#include "dataplane/virtual_clock/port_choice.h"
#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Merges two lists in order of time; at equal times the job of the first list comes first.
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
  // Every link gets a copy of `server`; in a network whose straight links are free, a straight link
  // gets no server. With kSwitchOutput, which needs one port per direction, the server of the link
  // into row h of the next level is at 2 * h. `usable`, indexed by network link, says which links
  // jobs may take; empty: all links.
  ServerNetwork(const Network& network, LinkModel links, const Server& server,
                std::vector<bool> usable = {})
      : network_(network),
        links_(links),
        ports_(static_cast<size_t>(network.ports())),
        free_stages_(network.hops() - network.dimension()),
        usable_(std::move(usable)),
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
  // They are replaced by the jobs that reach the last level before `window_end`. Calls
  // visit(worker, stage, link, arrivals, departures) for every server; link is the network's link
  // index within its stage. Several workers of the crew call it at once for different links.
  template <typename Visit>
  void RunWindow(Crew& crew, std::vector<std::vector<Job>>& nodes, Ticks window_end,
                 Visit&& visit) {
    constexpr size_t kRowsOfPart = 16;
    merged_.resize(static_cast<size_t>(crew.workers()));
    for (int stage = 0; stage < network_.stages(); ++stage) {
      crew.ForEachPart(network_.rows(), kRowsOfPart, [&](int worker, size_t first, size_t last) {
        for (size_t row = first; row < last; ++row) {
          Leave(worker, stage, static_cast<Row>(row), nodes[row], window_end, visit);
        }
      });
      crew.ForEachPart(network_.rows(), kRowsOfPart, [&](int worker, size_t first, size_t last) {
        for (size_t row = first; row < last; ++row) {
          Enter(worker, stage, static_cast<Row>(row), nodes[row], window_end, visit);
        }
      });
    }
  }
  // As above, but only on the calling thread: visit(stage, link, arrivals, departures).
  template <typename Visit>
  void RunWindow(std::vector<std::vector<Job>>& nodes, Ticks window_end, Visit&& visit) {
    Crew alone(1);
    RunWindow(alone, nodes, window_end,
              [&](int, int stage, size_t link, std::span<const Job> arrivals,
                  std::span<const Job> left) { visit(stage, link, arrivals, left); });
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
  size_t bytes() const { return servers_.size() * sizeof(Server); }  // without the queued jobs

 private:
  // Moves the jobs `at` a node to its links. If each link has a server, they also leave the links.
  template <typename Visit>
  void Leave(int worker, int stage, Row row, const std::vector<Job>& at, Ticks window_end,
             Visit&& visit) {
    const size_t base = static_cast<size_t>(stage) * in_.size();
    for (size_t link = ports_ * row; link < ports_ * (row + size_t{1}); ++link) {
      in_[link].clear();
      out_[link].clear();
    }
    Split(stage, row, at);
    if (links_ != LinkModel::kEdge) return;
    for (size_t link = ports_ * row; link < ports_ * (row + size_t{1}); ++link) {
      if (IsFree(stage, link)) {
        for (const Job& job : in_[link]) out_[link].push_back(job.Left(job.time));
        continue;
      }
      // The jobs that left earlier in the window are in `out_` already.
      servers_[base + link].Serve(
          choice_.serves_at_once() ? std::span<const Job>() : std::span<const Job>(in_[link]),
          window_end, out_[link]);
      visit(worker, stage, link, std::span<const Job>(in_[link]), std::span<const Job>(out_[link]));
    }
  }

  // The jobs that reach node `head` of the next level.
  template <typename Visit>
  void Enter(int worker, int stage, Row head, std::vector<Job>& reached, Ticks window_end,
             Visit&& visit) {
    const std::vector<uint32_t>& from =
        feeders_[static_cast<size_t>(stage) * network_.rows() + head];
    if (links_ == LinkModel::kEdge) return Merge(out_, from, reached);
    std::vector<Job>& merged = merged_[static_cast<size_t>(worker)];
    const size_t link = 2 * static_cast<size_t>(head);
    MergeByTime(in_[from[0]], in_[from[1]], merged);
    reached.clear();
    servers_[static_cast<size_t>(stage) * in_.size() + link].Serve(merged, window_end, reached);
    visit(worker, stage, link, std::span<const Job>(merged), std::span<const Job>(reached));
  }

  bool IsUsable(uint64_t index) const { return usable_.empty() || usable_[index]; }
  bool AnyUsable(uint64_t first) const {
    for (uint64_t index = first; index < first + ports_ / kDirections; ++index) {
      if (IsUsable(index)) return true;
    }
    return false;
  }

  // Moves jobs to the links that they take. Under a rule that must know which jobs are on the
  // links, the jobs are served one by one, in order of time. Before the last log n stages a job
  // takes the other direction if no link of its own direction is usable
  // (topologies/faulty_switches.h).
  void Split(int stage, Row row, const std::vector<Job>& jobs) {
    const size_t base = static_cast<size_t>(stage) * in_.size();
    const size_t width = ports_ / kDirections;
    for (const Job& job : jobs) {
      auto direction = static_cast<uint32_t>(job.tag >> 63);
      if (stage < free_stages_ && !AnyUsable(base + ports_ * row + width * direction)) {
        direction = 1 - direction;
      }
      const size_t first = ports_ * row + width * direction;
      const size_t link = first + choice_.Choose(
                                      stage, row, direction,
                                      [&](uint32_t port) { return IsUsable(base + first + port); },
                                      [&](uint32_t port) {
                                        Server& server = servers_[base + first + port];
                                        const size_t found =
                                            server.JobsAt(job.time, out_[first + port]);
                                        return PortChoice::Occupancy{found, server.done_order()};
                                      });
      in_[link].push_back(job);
      if (!choice_.serves_at_once()) continue;
      servers_[base + link].Serve(std::span<const Job>(&job, 1), job.time, out_[link]);
    }
  }

  void Merge(const std::vector<std::vector<Job>>& links, const std::vector<uint32_t>& from,
             std::vector<Job>& merged) {
    if (from.size() == 2) return MergeByTime(links[from[0]], links[from[1]], merged);
    merged.clear();
    for (const uint32_t link : from) {
      merged.insert(merged.end(), links[link].begin(), links[link].end());
    }
    // At equal times the job of the first list comes first.
    std::stable_sort(merged.begin(), merged.end(),
                     [](const Job& a, const Job& b) { return a.time < b.time; });
  }

  const Network& network_;
  const LinkModel links_;
  const size_t ports_;              // ports of a node
  const int free_stages_;           // the first stages, in which a path may take either direction
  const std::vector<bool> usable_;  // whether jobs may take each link; empty: all links are usable
  PortChoice choice_;
  std::vector<Server> servers_;                 // the server of each link
  std::vector<std::vector<uint32_t>> feeders_;  // for each stage and head: the links into the head
  std::vector<std::vector<Job>> in_, out_;      // the jobs of each link of one stage
  std::vector<std::vector<Job>> merged_;        // one for each worker
};

}  // namespace bfly::dataplane
