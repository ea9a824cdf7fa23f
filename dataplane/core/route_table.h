// SPDX-License-Identifier: Apache-2.0
// Tells which tag a frame gets at its input row: the tag of its circuit if it has one, otherwise
// the tag that the topology determines.
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
      : by_arithmetic_(ByArithmetic(network)),
        best_effort_(without_circuit == WithoutCircuit::kBestEffort),
        passes_(best_effort_),
        bits_(network.tag_layout().bits()),
        output_at_(64 - bits_),
        input_at_(64 - network.dimension()),
        inputs_(network.two_copies() ? network.rows() - 1 : 0),
        end_(ToWire(network.tag_layout().Spread(network.rows() - 1), bits_)),
        circuits_(network.rows()) {
    if (by_arithmetic_) return;
    for (Row row = 0; row < network.rows(); ++row) {
      from_input_.push_back(ToWire(GreedyTag(network, row, 0), bits_));
      to_output_.push_back(ToWire(GreedyTag(network, 0, row), bits_));
    }
  }

  static uint64_t BytesPerRow(const Network& network) {
    return (ByArithmetic(network) ? 1 : 3) * sizeof(WireTag);
  }

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
    return passes_.load(std::memory_order_relaxed);
  }

  // Returns the circuit at `input`, or 0.
  WireTag circuit(Row input) const { return circuits_[input].load(std::memory_order_relaxed); }

  void Install(Row input, Tag tag) {
    circuits_[input].store(ToWire(tag, bits_), std::memory_order_relaxed);
  }
  void Remove(Row input) { circuits_[input].store(0, std::memory_order_relaxed); }

  // While a schedule runs, it decides about frames without a circuit.
  void SetScheduled(bool scheduled) {
    passes_.store(scheduled || best_effort_, std::memory_order_relaxed);
  }

 private:
  static bool ByArithmetic(const Network& network) {
    return network.multiplicity() == 1 && network.extra_hops() == 0 && network.ends_left_to_right();
  }

  // ToWire(GreedyTag(...)). It is called for every frame. The input determines the directions of
  // the first hops of a greedy path, and the output those of the other hops; for row 0 they are all
  // zero.
  WireTag Greedy(Row input, Row output) const {
    if (!by_arithmetic_) return from_input_[input] | to_output_[output];
    return WireTag{input & inputs_} << input_at_ | WireTag{output} << output_at_ |
           kWireTagDone >> bits_;
  }

  const bool by_arithmetic_;
  const bool best_effort_;
  std::atomic<bool> passes_;  // control: writes, workers: relaxed reads
  const int bits_;            // bits of a tag
  // For tags by arithmetic: the place of the output in a tag in wire form, and the place of the
  // bits `inputs_` of the input. `inputs_` has all bits on a network of two copies, and none on
  // other networks.
  const int output_at_;
  const int input_at_;
  const Row inputs_;
  const WireTag end_;  // the directions of the last `dimension` hops
  // One for each row, if the tag takes more than a shift; otherwise empty.
  std::vector<WireTag> from_input_, to_output_;
  std::vector<std::atomic<WireTag>> circuits_;  // control: writes, workers: relaxed reads
};

}  // namespace bfly::dataplane
