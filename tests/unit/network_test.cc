// SPDX-License-Identifier: Apache-2.0
#include "topologies/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "topologies/tag.h"

namespace bfly {
namespace {

using ::testing::HasSubstr;

TEST(Network, CountsLevelsStagesAndLinksAsThePaperDoes) {
  // B_8: n(d+1) nodes, 2nd edges. Wrapped: its last level is its first. BB_8: 2d+1 levels.
  const Network b = Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}).value();
  EXPECT_EQ(b.levels(), 4);
  EXPECT_EQ(b.stages(), 3);
  EXPECT_EQ(b.link_count(), 48u);
  EXPECT_EQ(b.hops(), 3);
  const Network wrapped =
      Network::Make({.kind = NetworkKind::kWrappedButterfly, .rows = 8, .passes = 2}).value();
  EXPECT_EQ(wrapped.levels(), 3);
  EXPECT_EQ(wrapped.stages(), 3);
  EXPECT_EQ(wrapped.link_count(), 48u);
  EXPECT_EQ(wrapped.hops(), 6);
  EXPECT_EQ(wrapped.stage_of_hop(4), 1);
  const Network bb = Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 8}).value();
  EXPECT_EQ(bb.levels(), 7);
  EXPECT_EQ(bb.stages(), 6);
  EXPECT_EQ(bb.link_count(), 96u);
  EXPECT_EQ(bb.hops(), 6);
}

TEST(Network, SetsTheLeftmostPositionFirst) {
  const Network bb = Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 8}).value();
  // THEORY.md 2.1: transition l touches position (l mod d) + 1, mask 2^(d-1-(l mod d)).
  EXPECT_EQ(bb.next_row(0, 0b010, 1), 0b110u);
  EXPECT_EQ(bb.next_row(2, 0b010, 1), 0b011u);
  EXPECT_EQ(bb.next_row(3, 0b010, 1), 0b110u);
  EXPECT_EQ(bb.next_row(3, 0b110, 0), 0b010u);
  EXPECT_EQ(bb.position_of_stage(0), 1);
  EXPECT_EQ(bb.position_of_stage(5), 3);
}

TEST(Network, OfAMillionRowsIsMasksOnly) {
  const Network bb =
      Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = kMaxRows}).value();
  EXPECT_EQ(bb.stages(), 40);
  EXPECT_EQ(bb.link_count(), 40ull * 2 * kMaxRows);
  for (int stage = 0; stage < bb.stages(); ++stage) EXPECT_TRUE(bb.wiring(stage).table.empty());
  EXPECT_LE(bb.hops(), kMaxTagBits);
}

TEST(Network, BenesMirrorsItsSecondCopy) {
  const Network benes = Network::Make({.kind = NetworkKind::kBenes, .rows = 8}).value();
  EXPECT_EQ(benes.levels(), 7);
  EXPECT_EQ(benes.link_count(), 96u);
  std::vector<int> positions;
  for (int stage = 0; stage < 6; ++stage) positions.push_back(benes.position_of_stage(stage));
  EXPECT_EQ(positions, (std::vector<int>{1, 2, 3, 3, 2, 1}));
}

// THEORY.md 2.1: straight links stay; the cross links of each half of level 0 are a permutation of
// the other half, drawn for each half and seed anew.
TEST(Network, RandomlyWiredButterflyCrossesByTwoPermutations) {
  const auto make = [](uint64_t seed) {
    return Network::Make({.kind = NetworkKind::kRandomlyWiredButterfly, .rows = 64, .seed = seed})
        .value();
  };
  const Network rb = make(1);
  EXPECT_EQ(rb.link_count(), 2u * 64 * 6);
  std::vector<Row> heads[2];
  for (Row row = 0; row < 64; ++row) {
    const int w1 = row >= 32;
    EXPECT_EQ(rb.next_row(0, row, w1), row);
    EXPECT_EQ(rb.next_row(0, row, 1 - w1) >= 32, w1 == 0);
    heads[w1].push_back(rb.next_row(0, row, 1 - w1) % 32);
  }
  EXPECT_NE(heads[0], heads[1]);
  for (std::vector<Row>& sigma : heads) {
    std::sort(sigma.begin(), sigma.end());
    for (Row i = 0; i < 32; ++i) EXPECT_EQ(sigma[i], i);
  }
  for (int stage = 1; stage < 6; ++stage) EXPECT_TRUE(rb.wiring(stage).table.empty());
  EXPECT_EQ(make(1).wiring(0).table, rb.wiring(0).table);
  EXPECT_NE(make(2).wiring(0).table, rb.wiring(0).table);
}

TEST(Network, RefusesWrongSpecsNamingFieldValueAndRange) {
  const auto error = [](const NetworkSpec& spec) {
    const auto network = Network::Make(spec);
    EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(network.status().message());
  };
  for (uint32_t rows : {0u, 1u, 3u, 12u, kMaxRows + 1, kMaxRows * 2, ~0u}) {
    EXPECT_THAT(
        error({.kind = NetworkKind::kButterfly, .rows = rows}),
        HasSubstr("rows: " + std::to_string(rows) + " is not a power of two from 2 to 1048576"));
  }
  for (int passes : {-1, 0, 3}) {
    EXPECT_EQ(error({.kind = NetworkKind::kWrappedButterfly, .rows = 8, .passes = passes}),
              "passes: " + std::to_string(passes) + " is outside 1..2");
  }
  EXPECT_EQ(error({.kind = NetworkKind::kButterfly, .rows = 8, .passes = 2}),
            "passes: 2 needs kind wrapped_butterfly, not butterfly");
  EXPECT_EQ(error({.kind = static_cast<NetworkKind>(99), .rows = 8}), "kind: 99 is not a network");
}

TEST(Network, KindsHaveNamesThatReadBack) {
  for (NetworkKind kind : AllKinds()) EXPECT_EQ(KindFromName(KindName(kind)).value(), kind);
  EXPECT_EQ(KindName(static_cast<NetworkKind>(99)), "unknown");
  EXPECT_THAT(std::string(KindFromName("torus").status().message()),
              HasSubstr("kind: \"torus\" is not a network; use one of butterfly, "));
}

TEST(Network, RefusesLinksItDoesNotHave) {
  const Network b = Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}).value();
  EXPECT_TRUE(b.CheckLink({2, 7, 1}).ok());
  EXPECT_EQ(b.CheckLink({3, 0, 0}).message(), "stage: 3 is outside 0..2");
  EXPECT_EQ(b.CheckLink({-1, 0, 0}).message(), "stage: -1 is outside 0..2");
  EXPECT_EQ(b.CheckLink({0, 8, 0}).message(), "row: 8 is outside 0..7");
  EXPECT_EQ(b.CheckLink({0, 0, 2}).message(), "port: 2 is outside 0..1");
}

}  // namespace
}  // namespace bfly
