// SPDX-License-Identifier: Apache-2.0
// Set-ups whose path a named protocol chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "control/intent/execute.h"
#include "topologies/random.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

std::shared_ptr<const Network> NetworkOfTwoCopies(uint32_t rows) {
  return std::make_shared<const Network>(
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = 7}));
}

Order SetUpBy(const char* protocol, Row input, Row output) {
  SetUpOrder order{input, output, {}};
  order.protocol = protocol;
  order.seed = 3;
  return {order, ""};
}

TEST(ChosenProtocol, ASetUpGetsThePathThatTheProtocolGivesItsInput) {
  const auto network = NetworkOfTwoCopies(64);
  const Permutation permutation = PermutationByName("random", 64, 5).value();
  const CandidatePaths candidates(SwitchSettings::Make(*network).value());
  FabricState state(network, 0);
  for (Row input = 0; input < 64; ++input) {
    const Outcome circuit = Execute(state, SetUpBy("one_choice", input, permutation[input]));
    ASSERT_TRUE(circuit.ok()) << circuit.status();
    const auto coin = static_cast<int>(RandomBelow(3, RandomStream::kOneChoice, input, 2));
    EXPECT_EQ(circuit->path.tag, candidates.tag(input, permutation[input], coin));
  }
  state.RollBack();
  const RouteResult flip =
      RoutePermutation("ranade_flip", *network, permutation, {.seed = 3}).value();
  for (Row input = 0; input < 64; ++input) {
    const Outcome circuit = Execute(state, SetUpBy("ranade_flip", input, permutation[input]));
    ASSERT_TRUE(circuit.ok()) << circuit.status();
    EXPECT_EQ(circuit->path, flip.paths[input]);
  }
}

// The fewest seconds of several tries of 64 set-ups.
double SecondsOfSetUps(FabricState& state, const char* protocol) {
  double fewest = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (Row input = 0; input < 64; ++input) {
      EXPECT_TRUE(Execute(state, SetUpBy(protocol, input, input)).ok());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fewest = std::min(fewest, taken.count());
    state.RollBack();
  }
  return fewest;
}

// A path of 2^16 rows has twice the links of a path of 2^8 rows. All paths of its network have 512
// times as many.
TEST(ChosenProtocol, ASetUpTakesTheTimeOfItsPathNotOfTheNetwork) {
  FabricState small(NetworkOfTwoCopies(1 << 8), 0), large(NetworkOfTwoCopies(1 << 16), 0);
  for (const char* protocol : {"minimum", "one_choice", "ranade_flip"}) {
    EXPECT_LT(SecondsOfSetUps(large, protocol), 50 * SecondsOfSetUps(small, protocol)) << protocol;
  }
}

}  // namespace
}  // namespace bfly::control
