// SPDX-License-Identifier: Apache-2.0
// What can be said of the expansion of one side of a splitter: exactly, from below with certainty,
// and from above by sets that a search finds.
//
// Gamma(X) is the set of outputs that the inputs X lead to. A list of neighbours has an entry for
// each size k of X, from 0; the words "exact", "certified" and "found" say what the entry is.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/splitter.h"

namespace bfly {

// The exact fewest neighbours of k inputs, k = 0..inputs, by looking at all 2^inputs sets.
// `inputs` is at most kMaxExactInputs.
inline constexpr uint32_t kMaxExactInputs = 16;
std::vector<uint32_t> ExactFewestNeighbours(const SplitterSide& side);

// An upper bound of the square of the second largest singular value of the side's matrix (inputs by
// outputs, entries count links). It is computed, and what rounding can have taken from it is added.
// Takes time proportional to outputs^3; `inputs` is at most kMaxSpectralInputs.
inline constexpr uint32_t kMaxSpectralInputs = 2048;
double SecondSingularValueSquared(const SplitterSide& side);
// The square of the largest singular value: every input has c links and every output 2c.
inline double FirstSingularValueSquared(const SplitterSide& side) {
  return 2.0 * side.degree * side.degree;
}

// Certified lower bounds of the fewest neighbours of k inputs, k = 0..inputs, from an upper bound
// `lambda` of the square of the second singular value (Tanner 1984, "Explicit concentrators from
// generalized N-gons", theorem 2.1): c^2 k / (lambda + (2 c^2 - lambda) k / m), rounded up, and at
// least the fewest neighbours of one input. With lambda = FirstSingularValueSquared it holds for
// every side.
std::vector<uint32_t> CertifiedNeighbours(const SplitterSide& side, double lambda);

// A set of inputs with few neighbours.
struct FewNeighbours {
  std::vector<uint32_t> inputs;
  uint32_t neighbours = 0;
};

// Searches sets with few neighbours for each of the ratios `betas`: from random inputs on, adds the
// input that brings the fewest new neighbours, any one of several, up to inputs / 2. Returns for
// each beta the smallest set it found with fewer than beta neighbours an input; an empty one if it
// found none. The result is a function of the arguments.
std::vector<FewNeighbours> SearchFewNeighbours(const SplitterSide& side,
                                               const std::vector<double>& betas, int starts,
                                               uint64_t seed);

// The largest K such that neighbours[k] >= beta * k for all k = 1..K.
uint32_t LargestExpanding(const std::vector<uint32_t>& neighbours, double beta);

}  // namespace bfly
