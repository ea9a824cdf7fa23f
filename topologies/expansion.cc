// SPDX-License-Identifier: Apache-2.0
#include "topologies/expansion.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "topologies/random.h"

namespace bfly {
namespace {

// Inputs by the number of neighbours that they would add, and a walk that takes one of those that
// add the fewest.
class FewestFirst {
 public:
  explicit FewestFirst(const SplitterSide& side)
      : neighbours_(side.inputs), inputs_of_(side.outputs()) {
    for (uint32_t input = 0; input < side.inputs; ++input) {
      neighbours_[input] = side.NeighboursOf(input);
      for (const uint32_t output : neighbours_[input]) inputs_of_[output].push_back(input);
    }
    adding_.resize(static_cast<size_t>(side.degree) + 1);
  }

  // Calls visit(input, neighbours of all so far) for the inputs in the order taken, beginning with
  // `first`, at most `most` of them.
  template <typename Visit>
  void Walk(uint32_t first, uint32_t most, uint64_t seed, uint64_t draws, Visit&& visit) {
    Reset();
    uint32_t neighbours = 0;
    for (uint32_t taken = 0; taken < most; ++taken) {
      const uint32_t input = taken == 0 ? first : OneOfFewest(seed, draws + taken);
      Leave(input);
      taken_[input] = true;
      for (const uint32_t output : neighbours_[input]) {
        if (covered_[output]) continue;
        covered_[output] = true;
        ++neighbours;
        for (const uint32_t other : inputs_of_[output]) {
          if (taken_[other]) continue;
          Leave(other);
          --adds_[other];
          Enter(other);
        }
      }
      visit(input, neighbours);
    }
  }

 private:
  void Reset() {
    const size_t inputs = neighbours_.size();
    for (std::vector<uint32_t>& list : adding_) list.clear();
    adds_.resize(inputs);
    place_.resize(inputs);
    taken_.assign(inputs, false);
    covered_.assign(inputs_of_.size(), false);
    for (uint32_t input = 0; input < inputs; ++input) {
      adds_[input] = neighbours_[input].size();
      Enter(input);
    }
  }
  void Enter(uint32_t input) {
    place_[input] = adding_[adds_[input]].size();
    adding_[adds_[input]].push_back(input);
  }
  void Leave(uint32_t input) {
    std::vector<uint32_t>& list = adding_[adds_[input]];
    place_[list.back()] = place_[input];
    std::swap(list[place_[input]], list.back());
    list.pop_back();
  }
  uint32_t OneOfFewest(uint64_t seed, uint64_t draw) const {
    const auto list = std::find_if(adding_.begin(), adding_.end(),
                                   [](const std::vector<uint32_t>& l) { return !l.empty(); });
    return (*list)[RandomBelow(seed, RandomStream::kSplitterSample, draw,
                               static_cast<uint32_t>(list->size()))];
  }

  std::vector<std::vector<uint32_t>> neighbours_;  // by input
  std::vector<std::vector<uint32_t>> inputs_of_;   // by output
  std::vector<std::vector<uint32_t>> adding_;      // inputs that are not taken, by what they add
  std::vector<size_t> adds_;                       // by input
  std::vector<size_t> place_;                      // by input, in its list
  std::vector<bool> taken_;
  std::vector<bool> covered_;  // by output
};

// With room for what rounding does to a product that is a whole number.
bool Reaches(uint32_t neighbours, double beta, uint32_t inputs) {
  return neighbours >= beta * inputs - 1e-9 * inputs;
}

}  // namespace

std::vector<uint32_t> ExactFewestNeighbours(const SplitterSide& side) {
  std::vector<uint32_t> of_input(side.inputs);
  for (uint32_t input = 0; input < side.inputs; ++input) {
    for (const uint32_t output : side.NeighboursOf(input)) of_input[input] |= 1u << output;
  }
  std::vector<uint32_t> fewest(side.inputs + 1, side.outputs());
  fewest[0] = 0;
  std::vector<uint32_t> of_set(size_t{1} << side.inputs);
  for (uint32_t set = 1; set < of_set.size(); ++set) {
    of_set[set] = of_set[set & (set - 1)] | of_input[std::countr_zero(set)];
    uint32_t& least = fewest[std::popcount(set)];
    least = std::min(least, static_cast<uint32_t>(std::popcount(of_set[set])));
  }
  return fewest;
}

std::vector<uint32_t> CertifiedNeighbours(const SplitterSide& side, double lambda) {
  const double links = static_cast<double>(side.degree) * side.degree;
  size_t one = side.outputs();
  for (uint32_t input = 0; input < side.inputs; ++input) {
    one = std::min(one, side.NeighboursOf(input).size());
  }
  std::vector<uint32_t> certified(side.inputs + 1);
  for (uint32_t k = 1; k <= side.inputs; ++k) {
    const double share = static_cast<double>(k) / side.inputs;
    const double bound = links * k / (lambda + (2 * links - lambda) * share);
    // A bound that is a whole number may come out a little above it.
    certified[k] =
        std::max(static_cast<uint32_t>(one), static_cast<uint32_t>(std::ceil(bound - 1e-6)));
  }
  return certified;
}

std::vector<FewNeighbours> SearchFewNeighbours(const SplitterSide& side,
                                               const std::vector<double>& betas, int starts,
                                               uint64_t seed) {
  std::vector<FewNeighbours> found(betas.size());
  FewestFirst search(side);
  for (int start = 0; start < starts; ++start) {
    const uint64_t draws = static_cast<uint64_t>(start) << 32;
    const uint32_t first = RandomBelow(seed, RandomStream::kSplitterSample, draws, side.inputs);
    std::vector<uint32_t> taken;
    search.Walk(first, std::max(1u, side.inputs / 2), seed, draws,
                [&](uint32_t input, uint32_t neighbours) {
                  taken.push_back(input);
                  for (size_t i = 0; i < betas.size(); ++i) {
                    const auto size = static_cast<uint32_t>(taken.size());
                    if (Reaches(neighbours, betas[i], size)) continue;
                    if (!found[i].inputs.empty() && found[i].inputs.size() <= size) continue;
                    found[i] = {taken, neighbours};
                  }
                });
  }
  for (FewNeighbours& set : found) std::sort(set.inputs.begin(), set.inputs.end());
  return found;
}

uint32_t LargestExpanding(const std::vector<uint32_t>& neighbours, double beta) {
  uint32_t largest = 0;
  while (largest + 1 < neighbours.size() && Reaches(neighbours[largest + 1], beta, largest + 1)) {
    ++largest;
  }
  return largest;
}

}  // namespace bfly
