// SPDX-License-Identifier: Apache-2.0
// Which switches count as faulty besides those that are down. By the rule of Leighton and Maggs
// (1992) a switch counts as faulty if all its up edges, or all its down edges, lead to faulty
// switches: some packets that came to it could not go on. Nodes that have another port of a
// direction do not send to it.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly {

// The links of a network that no path may cross, as one bit a link.
class DeadLinks {
 public:
  explicit DeadLinks(const FaultSet& faults);
  bool Has(uint64_t link_index) const { return dead_[link_index]; }

 private:
  std::vector<bool> dead_;
};

// Nodes are named by the hop that leaves them, because a path of two passes over a wrapped network
// meets a node twice: hop h leaves a node of level h % stages, and the outputs have the number
// hops().
class FaultySwitches {
 public:
  // Three things make the rule exact:
  //  * an edge that is down leads to nothing, and counts like one to a faulty switch;
  //  * outputs are not switches. An output that no input can reach any more is the fault of no
  //    single switch, so a direction that leads to such outputs only is left out of account.
  //    Otherwise one output that is down would make every switch of the network faulty;
  //  * before the last log n hops a packet may take either direction. There a switch counts as
  //    faulty only if all its edges lead to faulty switches.
  // Takes time in proportion to the links of all hops, however many faults there are. The network
  // of `faults` must outlive the object; `faults` need not.
  explicit FaultySwitches(const FaultSet& faults);

  // An input that does not count as faulty has a path to every output that any input reaches.
  bool counts(int hop, Row row) const { return faulty_[Place(hop, row)]; }
  // Outputs that some input reaches.
  const std::vector<bool>& reached() const { return reached_; }
  const DeadLinks& dead() const { return dead_; }
  // Before this hop a path may take either direction.
  int free_hops() const { return free_hops_; }

  // Switches that count as faulty and are not down themselves, by level, then by row. A switch of a
  // wrapped network counts if it does at any hop.
  std::vector<NodeId> up_but_faulty() const;
  uint64_t count_up_but_faulty() const;
  // Links that work and lead to a switch that counts as faulty, while another port of the same
  // direction leads to one that does not; by index. Packets that may choose do not take them.
  std::vector<uint64_t> links_to_avoid() const;

 private:
  size_t Place(int hop, Row row) const { return static_cast<size_t>(hop) * network_.rows() + row; }
  template <typename Visit>
  void ForEachUpButFaulty(Visit&& visit) const;
  void FindReached();
  void Count();
  // Whether packets can go on from a node, given which heads lead to outputs that are reached.
  bool GoesOn(int hop, Row row, const std::vector<bool>& wanted) const;
  bool LeadsOn(int hop, Row row, int port) const;

  const Network& network_;
  const int free_hops_;
  const DeadLinks dead_;
  std::vector<bool> faulty_;  // by Place
  std::vector<bool> down_;    // nodes, by level and row
  std::vector<bool> reached_;
};

}  // namespace bfly
