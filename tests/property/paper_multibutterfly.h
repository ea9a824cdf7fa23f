// SPDX-License-Identifier: Apache-2.0
// The multibutterfly as Pietracaprina 1997, section 2, writes it down: nodes (r, c), and splitters
// as sets of nodes found by a division. Slow on purpose: the tests hold topologies/ against it.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/random.h"

namespace bfly::paper {

// The j-th c-splitter of an (N, d)-multibutterfly: rows of its inputs U in column c, and of its
// upper and lower outputs in column c + 1.
struct Splitter {
  int c = 0;
  uint32_t j = 0;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs[2];
};

inline std::vector<Splitter> SplittersOf(uint32_t n, int columns) {
  std::vector<Splitter> splitters;
  for (int c = 0; c < columns; ++c) {
    for (uint32_t j = 0; j < (1u << c); ++j) {
      Splitter splitter{.c = c, .j = j, .inputs = {}, .outputs = {}};
      for (uint32_t r = 0; r < n; ++r) {
        if (r / (n >> c) == j) splitter.inputs.push_back(r);
        for (uint32_t side = 0; side < 2; ++side) {
          if (r / (n >> (c + 1)) == 2 * j + side) splitter.outputs[side].push_back(r);
        }
      }
      splitters.push_back(splitter);
    }
  }
  return splitters;
}

// The row that edge k of the i-th input leads to on a side: the output pi(i) mod m/2, pi the
// random permutation that is drawn for this splitter, side and k (Diebold 2008, section 2.1).
inline uint32_t HeadOf(const Splitter& splitter, int side, int k, uint32_t i, uint64_t seed) {
  const auto m = static_cast<uint32_t>(splitter.inputs.size());
  const uint64_t which =
      (2 * static_cast<uint64_t>(splitter.c) + static_cast<uint64_t>(side)) * 256 +
      static_cast<uint64_t>(k);
  const std::vector<uint32_t> pi = RandomPermutation(
      seed, RandomStream::kSplitters, m, which * (uint64_t{1} << 32) + splitter.inputs[0]);
  return splitter.outputs[side][pi[i] % (m / 2)];
}

}  // namespace bfly::paper
