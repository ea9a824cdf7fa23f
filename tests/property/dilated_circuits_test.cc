// SPDX-License-Identifier: Apache-2.0
// Circuits on a dilated butterfly: the directions are the butterfly's, and parallel links share
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/protocols/circuit_set.h"
#include "control/protocols/protocol.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

Network Dilated(uint32_t rows, int multiplicity) {
  return Network::Make(
             {.kind = NetworkKind::kDilatedButterfly, .rows = rows, .multiplicity = multiplicity})
      .value();
}

// Circuits on each link of the plain butterfly, counted over its rows.
std::vector<uint32_t> PlainLoad(const Network& plain, const std::vector<CircuitPath>& paths) {
  std::vector<uint32_t> load(plain.link_count());
  for (const CircuitPath& path : paths) {
    Row row = path.input;
    for (int stage = 0; stage < plain.stages(); ++stage) {
      const uint32_t mask = 1u << (plain.stages() - 1 - stage);
      const int port = (path.output & mask) != 0;
      ++load[plain.link_index({stage, row, port})];
      row = (row & ~mask) | (path.output & mask);
    }
  }
  return load;
}

// Directions are given, so a link of the butterfly has the same circuits whatever the protocol; of
// d links in its place the fullest has ceil(1/d) of them, and no protocol can do better.
TEST(DilatedCircuits, MinimumSpreadsADirectionEvenlyOverItsPorts) {
  for (const char* name : {"bitrev", "transpose", "random", "identity"}) {
    for (const int multiplicity : {1, 2, 3, 8}) {
      SCOPED_TRACE(testing::Message() << name << " over " << multiplicity);
      const Network network = Dilated(64, multiplicity);
      const Network plain = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 64});
      const Permutation permutation = PermutationByName(name, 64, 5).value();
      const RouteResult result = RoutePermutation("minimum", network, permutation, {}).value();
      ASSERT_EQ(result.paths.size(), 64u);
      std::vector<uint32_t> load(network.link_count());
      for (const CircuitPath& path : result.paths) {
        ASSERT_EQ(path.output, permutation[path.input]);
        ASSERT_EQ(WalkTag(network, path.input, path.tag).back(), path.output);
        ASSERT_EQ(path.choice, PathChoice::kLeastLoaded);
        ForEachLink(network, path.input, path.tag, [&](uint64_t link) { ++load[link]; });
      }
      const std::vector<uint32_t> expected = PlainLoad(plain, result.paths);
      const auto d = static_cast<uint32_t>(multiplicity);
      uint32_t most = 0;
      for (size_t direction = 0; direction < expected.size(); ++direction) {
        uint32_t fullest = 0, sum = 0;
        for (uint32_t i = 0; i < d; ++i) {
          fullest = std::max(fullest, load[direction * d + i]);
          sum += load[direction * d + i];
        }
        ASSERT_EQ(sum, expected[direction]);
        ASSERT_EQ(fullest, (expected[direction] + d - 1) / d);
        most = std::max(most, fullest);
      }
      EXPECT_EQ(result.congestion, most);
    }
  }
}

// Bit reversal leads all 8 inputs with the same last three bits through one node of level 3, four
// over each link into it.
TEST(DilatedCircuits, BitReversalHasTheCongestionCountedByHand) {
  const Permutation reversal = PermutationByName("bitrev", 64, 0).value();
  for (const auto& [multiplicity, congestion] :
       std::vector<std::pair<int, uint32_t>>{{1, 4}, {2, 2}, {3, 2}, {8, 1}}) {
    const Network network = Dilated(64, multiplicity);
    EXPECT_EQ(RoutePermutation("minimum", network, reversal, {})->congestion, congestion);
    // Greedy looks at no load and takes the first port of each direction.
    EXPECT_EQ(RoutePermutation("greedy", network, reversal, {})->congestion, 4u);
  }
}

TEST(DilatedCircuits, MinimumKeepsOffLinksThatAreDown) {
  const Network network = Dilated(16, 2);
  FaultSet faults(network);
  for (Row row = 0; row < 16; ++row) {
    for (int stage = 0; stage < 4; ++stage) {
      faults.SetLinkUp({stage, row, static_cast<int>((row + stage) % 2)}, false);
    }
  }
  const Permutation permutation = PermutationByName("random", 16, 2).value();
  const RouteResult result =
      RoutePermutation("minimum", network, permutation, {.faults = &faults}).value();
  for (const CircuitPath& path : result.paths) EXPECT_TRUE(faults.IsWhole(path.input, path.tag));
}

// All three cross direction 0 of row 0 at stage 2. Where its first port carries one circuit at
// most, the second port gets the others; where no port has room, the path has the first port as
// before.
TEST(DilatedCircuits, MinimumKeepsOffLinksThatAreFull) {
  const Network network = Dilated(32, 2);
  LinkCapacity capacity;
  const auto ports = [&] {
    std::vector<int> third;
    const auto result = RoutePermutation("minimum", LinkLoad(network), {{0, 0}, {8, 1}, {16, 2}},
                                         {.capacity = &capacity});
    for (const CircuitPath& path : result->paths) {
      third.push_back(PortOfHop(network, path.tag, 2));
    }
    return third;
  };
  EXPECT_THAT(ports(), testing::ElementsAre(0, 1, 0));
  capacity.of_link[network.link_index({2, 0, 0})] = 1;
  EXPECT_THAT(ports(), testing::ElementsAre(0, 1, 1));
  capacity.of_link[network.link_index({2, 0, 1})] = 1;
  EXPECT_THAT(ports(), testing::ElementsAre(0, 1, 0));
}

TEST(DilatedCircuits, ProtocolsOfOtherNetworksSayWhatTheyNeed) {
  for (const char* protocol : {"one_choice", "valiant", "benes", "q_limited", "ranade_flip"}) {
    const absl::Status status = FindProtocol(protocol, NetworkKind::kDilatedButterfly).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("is not defined on a dilated_butterfly; it needs "));
  }
}

}  // namespace
}  // namespace bfly::control
