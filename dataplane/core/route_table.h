// SPDX-License-Identifier: Apache-2.0
// Tells which tag a frame gets at its input row: the tag of its circuit if it has one, otherwise
// the tag that the topology gives.
#pragma once

#include <atomic>
#include <vector>

#include "dataplane/core/config.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

struct Route {
  WireTag tag = 0;
  bool fixed = false;  // the tag says the port of each hop, not only the direction
};

// Each input row has one entry. Control threads write and workers read. An entry is one word, so a
// worker sees the old circuit or the new one and never waits.
class RouteTable {
 public:
  RouteTable(const Network& network, WithoutCircuit without_circuit)
      : network_(network),
        dimension_(network.dimension()),
        two_copies_(network.two_copies()),
        by_arithmetic_(network.multiplicity() == 1 && network.extra_hops() == 0 &&
                       network.ends_left_to_right()),
        without_circuit_(without_circuit),
        bits_(network.tag_layout().bits()),
        end_(ToWire(network.tag_layout().Spread(network.rows() - 1), bits_)),
        circuits_(network.rows()) {}

  // Finds the route of a frame input -> output. Returns false if there is no circuit and the frame
  // must be dropped.
  bool Lookup(Row input, Row output, Route& route) const {
    const WireTag circuit = circuits_[input].load(std::memory_order_relaxed);
    const WireTag greedy = Greedy(input, output);
    // Two paths lead to one output if and only if their last `dimension` directions agree.
    if (circuit != 0 && ((circuit ^ greedy) & end_) == 0) {
      route = {circuit, true};
      return true;
    }
    route = {greedy, false};
    return without_circuit_ == WithoutCircuit::kBestEffort;
  }

  // Returns the circuit at `input`, or 0.
  WireTag circuit(Row input) const { return circuits_[input].load(std::memory_order_relaxed); }

  void Install(Row input, Tag tag) {
    circuits_[input].store(ToWire(tag, bits_), std::memory_order_relaxed);
  }
  void Remove(Row input) { circuits_[input].store(0, std::memory_order_relaxed); }

 private:
  // ToWire(GreedyTag(...)). Every frame asks for it, so most networks answer without a call.
  WireTag Greedy(Row input, Row output) const {
    if (!by_arithmetic_) return ToWire(GreedyTag(network_, input, output), bits_);
    return ToWire(two_copies_ ? Tag{input} << dimension_ | output : output, bits_);
  }

  const Network& network_;
  const int dimension_;
  const bool two_copies_;
  const bool by_arithmetic_;
  const WithoutCircuit without_circuit_;
  const int bits_;                              // of a tag
  const WireTag end_;                           // the directions of the last `dimension` hops
  std::vector<std::atomic<WireTag>> circuits_;  // control: writes, workers: relaxed reads
};

}  // namespace bfly::dataplane
