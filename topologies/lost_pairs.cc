// SPDX-License-Identifier: Apache-2.0
#include "topologies/lost_pairs.h"

#include <algorithm>
#include <bit>

#include "topologies/faulty_switches.h"

namespace bfly {
namespace {

// Whether two nodes never have two paths between them that differ in a node.
bool HasOnePathEach(const Network& network) {
  if (network.hops() != network.dimension()) return false;
  if (network.multiplicity() == 1) return true;
  for (int stage = 0; stage < network.stages(); ++stage) {
    if (network.wiring(stage).table.empty()) continue;
    for (Row row = 0; row < network.rows(); ++row) {
      for (int port = 1; port < network.ports(); ++port) {
        if (network.direction_of(port) == network.direction_of(port - 1) &&
            network.next_row(stage, row, port) != network.next_row(stage, row, port - 1)) {
          return false;
        }
      }
    }
  }
  return true;
}

class PathCounter {
 public:
  PathCounter(const Network& network, const FaultySwitches& switches)
      : network_(network), switches_(switches) {}

  // Carries `at`, a value for each row, over all hops. `merge` gets the value at the head of a link
  // that works and the one at its tail.
  template <typename T, typename Merge>
  std::vector<T> Carry(std::vector<T> at, const Merge& merge) const {
    for (int hop = 0; hop < network_.hops(); ++hop) {
      const int stage = network_.stage_of_hop(hop);
      std::vector<T> next(network_.rows());
      for (Row row = 0; row < network_.rows(); ++row) {
        if (at[row] == 0) continue;
        for (int port = 0; port < network_.ports(); ++port) {
          if (switches_.dead().Has(network_.link_index({stage, row, port}))) continue;
          merge(next[network_.next_row(stage, row, port)], at[row]);
        }
      }
      at.swap(next);
    }
    return at;
  }

  // By input: how many outputs it has a path to, where two nodes have one path at most.
  std::vector<uint32_t> CountOutputs() const {
    std::vector<uint32_t> outputs(network_.rows(), 1);
    for (int hop = network_.hops() - 1; hop >= 0; --hop) {
      const int stage = network_.stage_of_hop(hop);
      std::vector<uint32_t> here(network_.rows());
      for (Row row = 0; row < network_.rows(); ++row) {
        uint32_t by_direction[kDirections] = {};
        for (int port = 0; port < network_.ports(); ++port) {
          if (switches_.dead().Has(network_.link_index({stage, row, port}))) continue;
          // Parallel links lead to the same row.
          by_direction[network_.direction_of(port)] = outputs[network_.next_row(stage, row, port)];
        }
        here[row] = by_direction[0] + by_direction[1];
      }
      outputs.swap(here);
    }
    return outputs;
  }

  // For each output, which of at most 64 inputs have a path to it.
  std::vector<uint64_t> OutputsOf(const std::vector<Row>& inputs) const {
    std::vector<uint64_t> at(network_.rows());
    for (size_t i = 0; i < inputs.size(); ++i) at[inputs[i]] = uint64_t{1} << i;
    return Carry(std::move(at), [](uint64_t& head, uint64_t tail) { head |= tail; });
  }

 private:
  const Network& network_;
  const FaultySwitches& switches_;
};

class LostPairSearch {
 public:
  LostPairSearch(const FaultSet& faults, size_t most_examples)
      : network_(faults.network()),
        switches_(faults),
        paths_(network_, switches_),
        most_examples_(most_examples) {
    for (Row row = 0; row < network_.rows(); ++row) {
      if (!switches_.reached()[row]) lost_.outputs.push_back(row);
      if (switches_.counts(0, row)) doubtful_.push_back(row);
    }
    reached_ = network_.rows() - static_cast<uint32_t>(lost_.outputs.size());
    lost_.pairs = uint64_t{network_.rows()} * lost_.outputs.size();
    lost_.faulty_switches = switches_.count_up_but_faulty();
  }

  LostPairs Run(uint64_t most_steps) && {
    if (reached_ == 0) {
      // All rows are in both lists.
      lost_.inputs = lost_.outputs;
    } else if (HasOnePathEach(network_)) {
      CountPaths();
    } else {
      Follow(most_steps);
    }
    FindExamples();
    return std::move(lost_);
  }

 private:
  // All inputs that are not doubtful have a path to every output that is reached.
  void CountPaths() {
    const std::vector<uint32_t> outputs = paths_.CountOutputs();
    for (const Row input : doubtful_) Note(input, outputs[input]);
  }

  void Follow(uint64_t most_steps) {
    const uint64_t steps_of_batch = uint64_t{static_cast<uint32_t>(network_.hops())} *
                                    network_.rows() * static_cast<uint32_t>(network_.ports());
    uint64_t steps = 0;
    for (size_t first = 0; first < doubtful_.size(); first += 64) {
      steps += steps_of_batch;
      if (steps > most_steps && first > 0) {
        lost_.exact = false;
        return;
      }
      const std::vector<Row> batch(
          doubtful_.begin() + static_cast<ptrdiff_t>(first),
          doubtful_.begin() + static_cast<ptrdiff_t>(std::min(first + 64, doubtful_.size())));
      std::vector<uint32_t> outputs(batch.size());
      for (uint64_t inputs : paths_.OutputsOf(batch)) {
        for (; inputs != 0; inputs &= inputs - 1) ++outputs[std::countr_zero(inputs)];
      }
      for (size_t i = 0; i < batch.size(); ++i) Note(batch[i], outputs[i]);
    }
  }

  void Note(Row input, uint32_t outputs) {
    lost_.pairs += reached_ - outputs;
    if (outputs == 0) lost_.inputs.push_back(input);
    if (outputs < reached_ && losers_.size() < most_examples_) losers_.push_back(input);
  }

  // Where an output has no path from anywhere, every input has lost one.
  void FindExamples() {
    const bool all_lose = !lost_.outputs.empty();
    for (size_t i = 0; lost_.examples.size() < most_examples_; ++i) {
      if (i >= (all_lose ? network_.rows() : losers_.size())) return;
      const Row input = all_lose ? static_cast<Row>(i) : losers_[i];
      const std::vector<uint64_t> outputs = paths_.OutputsOf({input});
      for (Row output = 0; output < network_.rows(); ++output) {
        if (outputs[output] != 0) continue;
        if (lost_.examples.size() == most_examples_) return;
        lost_.examples.push_back({input, output});
      }
    }
  }

  const Network& network_;
  const FaultySwitches switches_;
  const PathCounter paths_;
  const size_t most_examples_;
  uint32_t reached_ = 0;       // outputs
  std::vector<Row> doubtful_;  // inputs that count as faulty
  std::vector<Row> losers_;    // the first inputs that have lost an output
  LostPairs lost_;
};

}  // namespace

LostPairs FindLostPairs(const FaultSet& faults, size_t most_examples, uint64_t most_steps) {
  if (faults.empty()) return {};
  return LostPairSearch(faults, most_examples).Run(most_steps);
}

}  // namespace bfly
