// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "topologies/random.h"
#include "topologies/wiring.h"

namespace bfly {
namespace {

// The edges from the m inputs of one splitter to one of its sides, drawn one permutation after the
// other. A permutation gives every input a seat; seats o and o + m/2 belong to output o.
class DrawnSide {
 public:
  // `first_row` is the splitter's first row. `draws` tells stages and sides apart.
  DrawnSide(uint32_t inputs, Row first_row, uint64_t seed, uint64_t draws)
      : inputs_(inputs), outputs_(inputs / 2), first_row_(first_row), seed_(seed), draws_(draws) {}

  void Draw(ParallelEdges edges) {
    const int edge = static_cast<int>(seats_.size());
    seats_.push_back(
        RandomPermutation(seed_, RandomStream::kSplitters, inputs_, CounterOf(edge, 0)));
    if (edges == ParallelEdges::kAvoid) Separate(edge);
  }
  uint32_t output(int edge, uint32_t input) const { return OutputOf(seats_[edge][input]); }

 private:
  uint64_t CounterOf(int edge, uint32_t input) const {
    return (draws_ << 8 | static_cast<uint64_t>(edge)) << 32 | (first_row_ + input);
  }
  uint32_t OutputOf(uint32_t seat) const { return seat < outputs_ ? seat : seat - outputs_; }

  // Whether an earlier edge of the input leads to the output of `seat`. Only edges of the same
  // round of m/2 edges count, because more cannot lead to different outputs.
  bool IsParallel(int edge, uint32_t input, uint32_t seat) const {
    const int round = edge - static_cast<int>(static_cast<uint32_t>(edge) % outputs_);
    for (int earlier = round; earlier < edge; ++earlier) {
      if (output(earlier, input) == OutputOf(seat)) return true;
    }
    return false;
  }

  // Gives every input whose edge is parallel to an earlier one another seat.
  void Separate(int edge) {
    const std::vector<uint32_t>& seats = seats_[edge];
    for (uint32_t input = 0; input < inputs_; ++input) {
      if (IsParallel(edge, input, seats[input])) Reseat(edge, input);
    }
  }

  // A shortest chain of inputs, each of which takes the seat of the next; the last one takes the
  // seat of the first, or had a parallel edge before. The outputs that are still free for an input
  // make a regular bipartite graph: input i has m/2 - e of them after e edges of the round, and an
  // output is free for m - 2e inputs. So a perfect matching exists, and a chain with it.
  void Reseat(int edge, uint32_t first) {
    std::vector<uint32_t>& seats = seats_[edge];
    const uint32_t free_seat = seats[first];
    const uint32_t start =
        RandomBelow(seed_, RandomStream::kEdgeRepair, CounterOf(edge, first), inputs_);
    reached_from_.assign(inputs_, inputs_);
    reached_from_[first] = first;
    chain_.assign(1, first);
    for (size_t next = 0; next < chain_.size(); ++next) {
      const uint32_t from = chain_[next];
      for (uint32_t i = 0; i < inputs_; ++i) {
        const uint32_t to = start + i < inputs_ ? start + i : start + i - inputs_;
        if (reached_from_[to] != inputs_ || IsParallel(edge, from, seats[to])) continue;
        reached_from_[to] = from;
        chain_.push_back(to);
        if (IsParallel(edge, to, free_seat) && !IsParallel(edge, to, seats[to])) continue;
        return Rotate(seats, to, free_seat);
      }
    }
  }

  // The last input of a chain takes the free seat, and each one before it the seat behind it.
  void Rotate(std::vector<uint32_t>& seats, uint32_t last, uint32_t free_seat) {
    for (uint32_t input = last;; input = reached_from_[input]) {
      const uint32_t left = seats[input];
      seats[input] = free_seat;
      free_seat = left;
      if (reached_from_[input] == input) return;
    }
  }

  const uint32_t inputs_;
  const uint32_t outputs_;
  const Row first_row_;
  const uint64_t seed_;
  const uint64_t draws_;
  std::vector<std::vector<uint32_t>> seats_;  // by edge and input
  std::vector<uint32_t> reached_from_;        // by input; inputs_: not reached
  std::vector<uint32_t> chain_;
};

}  // namespace

std::vector<StageWiring> MultibutterflyWiring(int dimension, int multiplicity, ParallelEdges edges,
                                              uint64_t seed) {
  const Row rows = Row{1} << dimension;
  const auto ports = static_cast<size_t>(2 * multiplicity);
  std::vector<StageWiring> stages;
  for (int stage = 0; stage < dimension; ++stage) {
    const uint32_t inputs = rows >> stage;
    StageWiring& wiring = stages.emplace_back();
    wiring.mask = MaskOfPosition(stage + 1, dimension);
    wiring.table.resize(ports * rows);
    for (Row first_row = 0; first_row < rows; first_row += inputs) {
      for (uint32_t side = 0; side < 2; ++side) {
        DrawnSide drawn(inputs, first_row, seed, static_cast<uint64_t>(2 * stage) + side);
        for (int edge = 0; edge < multiplicity; ++edge) {
          drawn.Draw(edges);
          const size_t port = side * static_cast<size_t>(multiplicity) + static_cast<size_t>(edge);
          for (uint32_t input = 0; input < inputs; ++input) {
            wiring.table[(first_row + input) * ports + port] =
                first_row + side * (inputs / 2) + drawn.output(edge, input);
          }
        }
      }
    }
  }
  return stages;
}

}  // namespace bfly
