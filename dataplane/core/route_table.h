// SPDX-License-Identifier: Apache-2.0
// Which tag a frame gets at its input row: its circuit's if it has one, else as the topology says.
#pragma once

#include <atomic>
#include <vector>

#include "dataplane/core/config.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// One entry an input row. Control threads write, workers read; an entry is one word, so a worker
// sees the old circuit or the new one and never waits.
class RouteTable {
 public:
  RouteTable(const Network& network, WithoutCircuit without_circuit)
      : network_(network), without_circuit_(without_circuit), circuits_(network.rows()) {}

  // The tag of a frame input -> output. False: there is no circuit and it must be dropped.
  bool Lookup(Row input, Row output, WireTag& tag) const {
    const WireTag circuit = circuits_[input].load(std::memory_order_relaxed);
    const WireTag greedy = ToWire(GreedyTag(network_, input, output), network_.hops());
    // Two paths lead to one output if and only if the last `dimension` bits of their tags agree.
    if (circuit != 0 && ((circuit ^ greedy) << (network_.hops() - network_.dimension())) == 0) {
      tag = circuit;
      return true;
    }
    tag = greedy;
    return without_circuit_ == WithoutCircuit::kBestEffort;
  }

  // The circuit at `input`, or 0.
  WireTag circuit(Row input) const { return circuits_[input].load(std::memory_order_relaxed); }

  void Install(Row input, Tag tag) {
    circuits_[input].store(ToWire(tag, network_.hops()), std::memory_order_relaxed);
  }
  void Remove(Row input) { circuits_[input].store(0, std::memory_order_relaxed); }

 private:
  const Network& network_;
  const WithoutCircuit without_circuit_;
  std::vector<std::atomic<WireTag>> circuits_;  // control: writes, workers: relaxed reads
};

}  // namespace bfly::dataplane
