// SPDX-License-Identifier: Apache-2.0
// Circuits on a multibutterfly: `minimum` takes a path whose fullest link has the fewest circuits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/protocols/protocol.h"
#include "control/protocols/set_up_steps.h"
#include "topologies/pass_steps.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

Network Multibutterfly(uint32_t rows, int multiplicity, uint64_t seed) {
  return Network::Make({.kind = NetworkKind::kMultibutterfly,
                        .rows = rows,
                        .seed = seed,
                        .multiplicity = multiplicity})
      .value();
}

// The ports of the first path, by its ports, among those whose fullest link has the fewest circuits
// and none of whose links is blocked or full; empty if there is none. All paths are tried.
std::vector<int> BestByTrial(const Network& network, const std::vector<uint32_t>& load,
                             const FaultSet& faults, const LinkCapacity& capacity, Row input,
                             Row output) {
  const int d = network.multiplicity();
  int paths = 1;
  for (int hop = 0; hop < network.stages(); ++hop) paths *= d;
  std::vector<int> best;
  uint32_t least = ~0u;
  for (int number = 0; number < paths; ++number) {
    std::vector<int> ports;
    for (int hop = network.stages(), rest = number; hop-- > 0; rest /= d) {
      const int direction = static_cast<int>(output >> (network.stages() - 1 - hop) & 1);
      ports.insert(ports.begin(), direction * d + rest % d);
    }
    Row row = input;
    uint32_t most = 0;
    bool whole = true;
    for (int stage = 0; stage < network.stages(); ++stage) {
      const uint64_t link = network.link_index({stage, row, ports[stage]});
      most = std::max(most, load[link]);
      const bool full =
          capacity.of_link.count(link) != 0 && load[link] == capacity.of_link.at(link);
      whole = whole && !faults.blocks(link) && !full;
      row = network.next_row(stage, row, ports[stage]);
    }
    EXPECT_EQ(row, output);
    if (!whole || most >= least) continue;
    least = most;
    best = ports;
  }
  return best;
}

TEST(MultibutterflyCircuits, MinimumTakesThePathThatATrialOfAllPathsFinds) {
  for (const int multiplicity : {1, 2, 3}) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      const Network network = Multibutterfly(16, multiplicity, seed);
      FaultSet faults(network);
      for (uint64_t i = 0; seed % 2 == 0 && i < 12; ++i) {
        const auto links = static_cast<uint32_t>(network.link_count());
        faults.SetLinkUp(network.link_at(RandomBelow(seed, RandomStream::kTest, i, links)), false);
      }
      // A third of the links carry one circuit at most.
      LinkCapacity capacity;
      for (uint64_t link = 0; seed % 3 == 0 && link < network.link_count(); link += 3) {
        capacity.of_link[link] = 1;
      }
      const ProtocolOptions options{.faults = &faults, .capacity = &capacity};
      // Three permutations, one after the other, so that links have several circuits.
      std::vector<uint32_t> load(network.link_count());
      LinkLoad standing(network);
      const auto chooser = MakeChooser("minimum", network, options).value();
      for (const char* name : {"bitrev", "random", "identity"}) {
        const Permutation permutation = PermutationByName(name, 16, seed).value();
        std::vector<Request> requests;
        for (Row input = 0; input < 16; ++input) requests.push_back({input, permutation[input]});
        const RouteResult together =
            RoutePermutation("minimum", standing, requests, options).value();
        bool all_found = true;
        for (Row input = 0; input < 16; ++input) {
          const std::vector<int> best =
              BestByTrial(network, load, faults, capacity, input, permutation[input]);
          const CircuitPath path = chooser->Choose(standing, input, permutation[input]);
          EXPECT_EQ(path.choice, PathChoice::kLeastLoaded);
          if (best.empty()) {
            EXPECT_FALSE(faults.IsWhole(input, path.tag) &&
                         !FirstFullLink(capacity, standing, network, input, path.tag));
            all_found = false;
            EXPECT_EQ(OutputOfTag(network, path.tag), permutation[input]);
            continue;
          }
          ASSERT_EQ(PortsOfTag(network, path.tag), best);
          if (all_found) {
            EXPECT_EQ(PortsOfTag(network, together.paths[input].tag), best);
          }
          standing.Add(input, path.tag);
          ForEachLink(network, input, path.tag, [&](uint64_t link) { ++load[link]; });
        }
      }
    }
  }
}

TEST(MultibutterflyCircuits, RoutesPermutationsAndReportsTheirCongestion) {
  const Network network = Multibutterfly(256, 2, 9);
  for (const char* protocol : {"minimum", "greedy"}) {
    for (const char* name : {"bitrev", "transpose", "random"}) {
      const Permutation permutation = PermutationByName(name, 256, 4).value();
      const RouteResult result = RoutePermutation(protocol, network, permutation, {}).value();
      ASSERT_EQ(result.paths.size(), 256u);
      std::vector<uint32_t> load(network.link_count());
      for (const CircuitPath& path : result.paths) {
        Row row = path.input;
        for (int hop = 0; hop < 8; ++hop) {
          const int port = PortsOfTag(network, path.tag)[hop];
          ++load[network.link_index({hop, row, port})];
          row = network.next_row(hop, row, port);
        }
        EXPECT_EQ(row, permutation[path.input]);
      }
      EXPECT_EQ(result.congestion, *std::max_element(load.begin(), load.end()));
    }
  }
}

TEST(MultibutterflyCircuits, ABackwardPassTakesAsManyStepsAsTheForwardPassOfOnePacket) {
  const Network network = Multibutterfly(64, 2, 3);
  const Tag tag = GreedyTag(network, 5, 9);
  EXPECT_EQ(StepsOfPass(network, {{5, tag}}, false), 6u);
  EXPECT_EQ(StepsOfPass(network, {{5, tag}}, true), 6u);
  // Two packets on the same six links: the second is one step behind.
  EXPECT_EQ(StepsOfPass(network, {{5, tag}, {5, tag}}, true), 7u);
}

TEST(MultibutterflyCircuits, OtherProtocolsSayWhatTheyNeed) {
  const Network network = Multibutterfly(16, 2, 1);
  const Permutation identity = PermutationByName("identity", 16, 0).value();
  for (const char* protocol : {"valiant", "benes", "one_choice", "q_limited"}) {
    const auto routed = RoutePermutation(protocol, network, identity, {});
    EXPECT_EQ(routed.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(routed.status().message()),
                HasSubstr("is not defined on a multibutterfly; it needs"));
  }
}

}  // namespace
}  // namespace bfly::control
