// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "control/protocols/protocol.h"
#include "tests/property/paper.h"

namespace bfly::control {
namespace {

// Node by node as THEORY.md 2.8 has it: the settings of the first copy lead, the second copy sets
// digit after digit. In the first copy no link carries two circuits: a switch leads its two
// incoming links to different outgoing ones.
TEST(RanadeFlip, FollowsTheSwitchesOfTheFirstCopy) {
  for (const uint32_t rows : {2u, 16u, 128u}) {
    const Network bb =
        Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows}).value();
    const int d = bb.dimension();
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const Permutation pi = PermutationByName("random", rows, seed).value();
      const RouteResult result = RoutePermutation("ranade_flip", bb, pi, {.seed = seed}).value();
      for (int stage = 0; stage < d; ++stage) EXPECT_EQ(result.stage_congestion[stage], 1u);
      ASSERT_EQ(result.paths.size(), rows);
      for (const CircuitPath& path : result.paths) {
        paper::Digits at = paper::DigitsOf(path.input, d);
        std::vector<Row> rows_of_path{path.input};
        bool cross = false;
        for (int level = 0; level < d; ++level) {
          const uint64_t node = uint64_t{rows} * level + paper::RowOf(at);
          if ((Random64(seed, RandomStream::kFlip, node / 64) >> (node % 64)) % 2 == 1) {
            cross = !cross;
          }
          if (cross) at = paper::Cross(at, level + 1);
          rows_of_path.push_back(paper::RowOf(at));
        }
        for (int position = 1; position <= d; ++position) {
          at[position - 1] = paper::DigitsOf(path.output, d)[position - 1];
          rows_of_path.push_back(paper::RowOf(at));
        }
        ASSERT_EQ(WalkTag(bb, path.input, path.tag), rows_of_path);
      }
    }
  }
}

}  // namespace
}  // namespace bfly::control
