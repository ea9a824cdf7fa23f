// SPDX-License-Identifier: Apache-2.0
// Checks that two results of a protocol agree in every field.
#pragma once

#include <gtest/gtest.h>

#include "control/protocols/protocol.h"

namespace bfly::control {

inline void ExpectSameRoute(const RouteResult& one, const RouteResult& other) {
  EXPECT_EQ(one.rounds, other.rounds);
  EXPECT_EQ(one.messages, other.messages);
  EXPECT_EQ(one.congestion, other.congestion);
  EXPECT_EQ(one.stage_congestion, other.stage_congestion);
  EXPECT_EQ(one.stage_load, other.stage_load);
  EXPECT_EQ(one.dilation, other.dilation);
  // Not EXPECT_EQ, because it would print a million paths.
  EXPECT_TRUE(one.paths == other.paths);
  EXPECT_EQ(one.left_per_round, other.left_per_round);
  EXPECT_TRUE(one.requests_left == other.requests_left);
  EXPECT_TRUE(one.inputs_left == other.inputs_left);
  EXPECT_EQ(one.passes_alone, other.passes_alone);
  EXPECT_TRUE(one.rounds_asked == other.rounds_asked);
  EXPECT_EQ(one.c, other.c);
  EXPECT_TRUE(one.buddies == other.buddies);
}

}  // namespace bfly::control
