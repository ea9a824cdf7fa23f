// SPDX-License-Identifier: Apache-2.0
#include "topologies/network.h"

#include <gtest/gtest.h>

#include "topologies/tag.h"

namespace bfly {
namespace {

TEST(Network, EveryPairOfEveryKindUpTo64RowsIsConnectedByItsGreedyTag) {
  for (NetworkKind kind : AllKinds()) {
    for (uint32_t rows = 2; rows <= 64; rows *= 2) {
      auto network = Network::Make({.kind = kind, .rows = rows});
      ASSERT_TRUE(network.ok()) << network.status();
      for (Row input = 0; input < rows; ++input) {
        for (Row output = 0; output < rows; ++output) {
          EXPECT_EQ(WalkTag(*network, input, GreedyTag(*network, input, output)).back(), output);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bfly
