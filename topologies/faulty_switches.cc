// SPDX-License-Identifier: Apache-2.0
#include "topologies/faulty_switches.h"

#include <algorithm>

namespace bfly {
namespace {

// Calls visit(from, port, to) for every link of a stage.
template <typename Visit>
void ForEachLinkOfStage(const Network& network, int stage, Visit&& visit) {
  for (Row row = 0; row < network.rows(); ++row) {
    for (int port = 0; port < network.ports(); ++port) {
      visit(row, port, network.next_row(stage, row, port));
    }
  }
}

}  // namespace

DeadLinks::DeadLinks(const FaultSet& faults) : dead_(faults.network().link_count()) {
  for (const LinkId& link : faults.blocked_links()) dead_[faults.network().link_index(link)] = true;
}

FaultySwitches::FaultySwitches(const FaultSet& faults)
    : network_(faults.network()),
      free_hops_(network_.hops() - network_.dimension()),
      dead_(faults),
      faulty_(Place(network_.hops() + 1, 0)),
      down_(Place(network_.levels(), 0)) {
  for (const NodeId& node : faults.down_nodes()) down_[Place(node.level, node.row)] = true;
  FindReached();
  Count();
}

void FaultySwitches::FindReached() {
  reached_.assign(network_.rows(), true);
  for (int hop = 0; hop < network_.hops(); ++hop) {
    const int stage = network_.stage_of_hop(hop);
    std::vector<bool> next(network_.rows());
    ForEachLinkOfStage(network_, stage, [&](Row row, int port, Row to) {
      if (reached_[row] && !dead_.Has(network_.link_index({stage, row, port}))) next[to] = true;
    });
    reached_.swap(next);
  }
}

void FaultySwitches::Count() {
  // The rows behind the present hop from which the network without faults leads to such outputs.
  std::vector<bool> wanted = reached_;
  for (int hop = network_.hops() - 1; hop >= 0; --hop) {
    const int stage = network_.stage_of_hop(hop);
    std::vector<bool> wanted_here(network_.rows());
    ForEachLinkOfStage(network_, stage, [&](Row row, int, Row to) {
      if (wanted[to]) wanted_here[row] = true;
    });
    for (Row row = 0; row < network_.rows(); ++row) {
      faulty_[Place(hop, row)] = down_[Place(stage, row)] || !GoesOn(hop, row, wanted);
    }
    wanted.swap(wanted_here);
  }
}

bool FaultySwitches::LeadsOn(int hop, Row row, int port) const {
  const int stage = network_.stage_of_hop(hop);
  return !dead_.Has(network_.link_index({stage, row, port})) &&
         !counts(hop + 1, network_.next_row(stage, row, port));
}

bool FaultySwitches::GoesOn(int hop, Row row, const std::vector<bool>& wanted) const {
  bool leads_on[kDirections] = {};
  bool is_wanted[kDirections] = {};
  for (int port = 0; port < network_.ports(); ++port) {
    const int direction = network_.direction_of(port);
    if (LeadsOn(hop, row, port)) leads_on[direction] = true;
    if (wanted[network_.next_row(network_.stage_of_hop(hop), row, port)]) {
      is_wanted[direction] = true;
    }
  }
  if (hop < free_hops_) return leads_on[0] || leads_on[1];
  return (leads_on[0] || !is_wanted[0]) && (leads_on[1] || !is_wanted[1]);
}

template <typename Visit>
void FaultySwitches::ForEachUpButFaulty(Visit&& visit) const {
  for (int level = 0; level < network_.stages(); ++level) {
    for (Row row = 0; row < network_.rows(); ++row) {
      if (down_[Place(level, row)]) continue;
      bool faulty = false;
      for (int hop = level; hop < network_.hops(); hop += network_.stages()) {
        faulty |= counts(hop, row);
      }
      if (faulty) visit(NodeId{level, row});
    }
  }
}

std::vector<NodeId> FaultySwitches::up_but_faulty() const {
  std::vector<NodeId> nodes;
  ForEachUpButFaulty([&](NodeId node) { nodes.push_back(node); });
  return nodes;
}

uint64_t FaultySwitches::count_up_but_faulty() const {
  uint64_t nodes = 0;
  ForEachUpButFaulty([&](NodeId) { ++nodes; });
  return nodes;
}

std::vector<uint64_t> FaultySwitches::links_to_avoid() const {
  std::vector<uint64_t> links;
  if (network_.multiplicity() == 1) return links;
  for (int hop = 0; hop < network_.hops(); ++hop) {
    const int stage = network_.stage_of_hop(hop);
    for (Row row = 0; row < network_.rows(); ++row) {
      bool leads_on[kDirections] = {};
      for (int port = 0; port < network_.ports(); ++port) {
        if (LeadsOn(hop, row, port)) leads_on[network_.direction_of(port)] = true;
      }
      for (int port = 0; port < network_.ports(); ++port) {
        const uint64_t link = network_.link_index({stage, row, port});
        if (leads_on[network_.direction_of(port)] && !dead_.Has(link) && !LeadsOn(hop, row, port)) {
          links.push_back(link);
        }
      }
    }
  }
  return links;
}

}  // namespace bfly
