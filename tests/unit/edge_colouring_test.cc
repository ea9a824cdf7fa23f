// SPDX-License-Identifier: Apache-2.0
#include "topologies/edge_colouring.h"

#include <set>

#include "gtest/gtest.h"
#include "topologies/network.h"

namespace bfly {
namespace {

// Diebold 2008, section 3: the links between two levels split into 2c perfect matchings.
void EveryColourIsAPerfectMatching(const NetworkSpec& spec) {
  const absl::StatusOr<Network> network = Network::Make(spec);
  ASSERT_TRUE(network.ok()) << network.status();
  const absl::StatusOr<EdgeColouring> colouring = EdgeColouring::Make(*network);
  ASSERT_TRUE(colouring.ok()) << colouring.status();
  ASSERT_EQ(colouring->colours(), network->ports());
  for (int stage = 0; stage < network->stages(); ++stage) {
    for (int colour = 0; colour < colouring->colours(); ++colour) {
      std::set<Row> heads;
      for (Row row = 0; row < network->rows(); ++row) {
        const int port = colouring->port(stage, colour, row);
        ASSERT_EQ(colouring->ports(stage, colour)[row], port);
        heads.insert(network->next_row(stage, row, port));
      }
      EXPECT_EQ(heads.size(), network->rows()) << "stage " << stage << ", colour " << colour;
    }
    for (Row row = 0; row < network->rows(); ++row) {
      std::set<int> ports;
      for (int colour = 0; colour < colouring->colours(); ++colour) {
        ports.insert(colouring->port(stage, colour, row));
      }
      EXPECT_EQ(static_cast<int>(ports.size()), network->ports()) << "stage " << stage;
    }
  }
}

TEST(EdgeColouring, IsPerfectMatchingsOnMultibutterflies) {
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    for (const int c : {1, 2, 3, 8}) {
      for (const uint64_t seed : {1, 2, 3}) {
        EveryColourIsAPerfectMatching({.kind = NetworkKind::kMultibutterfly,
                                       .rows = 64,
                                       .seed = seed,
                                       .multiplicity = c,
                                       .parallel_edges = edges});
      }
    }
  }
}

TEST(EdgeColouring, IsPerfectMatchingsOnEveryOtherKind) {
  for (const NetworkKind kind : AllKinds()) {
    const bool wide =
        kind == NetworkKind::kMultibutterfly || kind == NetworkKind::kDilatedButterfly;
    EveryColourIsAPerfectMatching(
        {.kind = kind, .rows = 32, .seed = 4, .multiplicity = wide ? 2 : 1});
  }
}

// On a butterfly the nodes r and r ^ mask share both heads. r, without the bit of the mask, has its
// straight link, port 0, in colour 0; then the other node has its straight link, port 1, in colour
// 0 too.
TEST(EdgeColouring, OfAButterflyIsStraightAndCross) {
  const absl::StatusOr<Network> network =
      Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  const absl::StatusOr<EdgeColouring> colouring = EdgeColouring::Make(*network);
  for (int stage = 0; stage < 3; ++stage) {
    for (Row row = 0; row < 8; ++row) {
      EXPECT_EQ(network->next_row(stage, row, colouring->port(stage, 0, row)), row);
      EXPECT_EQ(network->next_row(stage, row, colouring->port(stage, 1, row)), row ^ 4u >> stage);
    }
  }
}

}  // namespace
}  // namespace bfly
