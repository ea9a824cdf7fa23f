// SPDX-License-Identifier: Apache-2.0
// The test of docs/protocol-tutorial.md.
#include "docs/examples/best_of_four.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace bfly::control {
namespace {

TEST(BestOfFour, JoinsEveryPairAndBeatsOneRandomRow) {
  AddProtocol(kBestOfFour);
  uint32_t four = 0, one = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Network bb =
        Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 256, .seed = seed}).value();
    const Permutation pi = PermutationByName("random", 256, seed).value();
    const RouteResult result = RoutePermutation("best_of_four", bb, pi, {.seed = seed}).value();
    uint32_t most = 0;
    for (const CircuitPath& path : result.paths) {
      const std::vector<Row> rows = WalkTag(bb, path.input, path.tag);
      ASSERT_EQ(rows.front(), path.input);
      ASSERT_EQ(rows.back(), pi[path.input]);
    }
    // What is said of the congestion is what a count of the paths gives.
    std::map<std::array<Row, 3>, uint32_t> links;
    for (const CircuitPath& path : result.paths) {
      const std::vector<Row> rows = WalkTag(bb, path.input, path.tag);
      for (Row level = 0; level + 1 < rows.size(); ++level) {
        most = std::max(most, ++links[{level, rows[level], rows[level + 1]}]);
      }
    }
    EXPECT_EQ(result.congestion, most);
    four += result.congestion;
    one += RoutePermutation("valiant", bb, pi, {.seed = seed}).value().congestion;
  }
  EXPECT_LT(four, one);
}

TEST(BestOfFour, IsRefusedWhereThereIsNoMiddle) {
  const Network b = Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}).value();
  EXPECT_EQ(kBestOfFour.defined_on(b.kind()), false);
}

}  // namespace
}  // namespace bfly::control
