// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/protocols/churn.h"
#include "control/protocols/circuit_set.h"
#include "control/protocols/protocol.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

Network Make(NetworkKind kind, uint32_t rows, uint64_t seed = 1) {
  return Network::Make({.kind = kind, .rows = rows, .seed = seed}).value();
}

TEST(LinkLoad, CountsThePathsOverEachLink) {
  const Network b = Make(NetworkKind::kButterfly, 4);
  LinkLoad load(b);
  load.Add(0b00, 0b10);  // 00 -> 10 -> 10
  load.Add(0b01, 0b11);  // 01 -> 11 -> 11
  load.Add(0b10, 0b11);  // 10 -> 10 -> 11
  EXPECT_EQ(load.on({0, 0b00, 1}), 1u);
  EXPECT_EQ(load.on({1, 0b10, 0}), 1u);
  EXPECT_EQ(load.on({1, 0b10, 1}), 1u);
  EXPECT_EQ(load.Congestion(), 1u);
  load.Add(0b00, 0b11);  // 00 -> 10 -> 11
  EXPECT_EQ(load.StageCongestion(), (std::vector<uint32_t>{2, 2}));
  EXPECT_EQ(load.MaxOnPath(0b01, 0b11), 1u);
  EXPECT_EQ(load.MaxOnPath(0b10, 0b11), 2u);
  load.Remove(0b00, 0b11);
  EXPECT_EQ(load.Congestion(), 1u);
  load.Clear();
  EXPECT_THAT(load.counts(), Each(0u));
}

// THEORY.md 2.8: bit reversal loads some edge of B_n with 2^(ceil(d/2)-1) paths, transpose with
// 2^(floor(d/2)-1), a translation of the rows with 1.
TEST(Greedy, CongestionOnTheButterflyIsWhatTheoryCounts) {
  for (int d = 2; d <= 12; ++d) {
    for (NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly}) {
      const Network network = Make(kind, 1u << d);
      const auto congestion = [&](const char* name) {
        const auto pi = PermutationByName(name, network.rows(), 0).value();
        return RoutePermutation("greedy", network, pi).value().congestion;
      };
      EXPECT_EQ(congestion("bitrev"), 1u << ((d + 1) / 2 - 1)) << "d = " << d;
      EXPECT_EQ(congestion("transpose"), 1u << (d / 2 - 1)) << "d = " << d;
      EXPECT_EQ(congestion("neighbor"), 1u) << "d = " << d;
      EXPECT_EQ(congestion("tornado"), 1u) << "d = " << d;
    }
  }
}

TEST(Greedy, TakesOneRoundAndOnePacketARequest) {
  const Network b = Make(NetworkKind::kButterfly, 8);
  const auto result = RoutePermutation("greedy", b, {1, 0, 3, 2, 5, 4, 7, 6}).value();
  EXPECT_EQ(result.rounds, 1u);
  EXPECT_EQ(result.messages, 8u);
  EXPECT_EQ(result.dilation, 3);
  EXPECT_EQ(result.stage_congestion, (std::vector<uint32_t>{1, 1, 1}));
}

TEST(Minimum, RoutesAPermutationOverOneOfItsTwoPathsEach) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 256);
  const CandidatePaths candidates(SwitchSettings::Make(bb).value());
  const auto pi = PermutationByName("random", 256, 3).value();
  const RouteResult result = RoutePermutation("minimum", bb, pi).value();
  ASSERT_EQ(result.paths.size(), 256u);
  LinkLoad load(bb);
  for (Row input = 0; input < 256; ++input) {
    const CircuitPath& path = result.paths[input];
    EXPECT_EQ(path.input, input);
    EXPECT_EQ(path.output, pi[input]);
    ASSERT_NE(path.choice, PathChoice::kGreedy);
    EXPECT_EQ(path.tag, candidates.tag(input, pi[input], path.choice == PathChoice::kPPrime));
    load.Add(input, path.tag);
  }
  EXPECT_EQ(result.congestion, load.Congestion());
  EXPECT_EQ(result.stage_congestion, load.StageCongestion());
  EXPECT_EQ(result.dilation, 16);
  // One request after the other; a probe on each of two paths, forward and back.
  EXPECT_EQ(result.rounds, 256u);
  EXPECT_EQ(result.messages, 4u * 256);
}

// Cole et al. 1998, section 2.2: congestion <= 4c, c = ceil(loglog n), so 12 at n = 256 and 16 at n
// = 4096.
TEST(Minimum, StaysWithinTheBoundOfThePaper) {
  for (const auto& [rows, bound] : {std::pair{256u, 12u}, std::pair{4096u, 16u}}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows, seed);
      for (const char* name : {"random", "bitrev", "transpose", "identity"}) {
        const auto pi = PermutationByName(name, rows, seed).value();
        EXPECT_LE(RoutePermutation("minimum", bb, pi).value().congestion, bound) << name;
      }
    }
  }
}

TEST(Minimum, TheSamePairGetsTheSameTwoPathsAgain) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 64);
  const auto chooser = MakeChooser("minimum", bb).value();
  CircuitSet circuits(bb);
  const CircuitPath first = circuits.SetUp(*chooser, 5, 9).value();
  EXPECT_EQ(first.choice, PathChoice::kP);  // an empty network: a tie
  ASSERT_TRUE(circuits.Release(5).ok());
  EXPECT_EQ(circuits.SetUp(*chooser, 5, 9).value(), first);
}

TEST(CircuitSet, NamesTheBusyInputAndOutputAndTheCircuitThatHoldsThem) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 16);
  const auto chooser = MakeChooser("minimum", bb).value();
  CircuitSet circuits(bb);
  ASSERT_TRUE(circuits.SetUp(*chooser, 3, 9).ok());
  ASSERT_TRUE(circuits.SetUp(*chooser, 4, 7).ok());
  const auto refused = [&](Row input, Row output) {
    const absl::Status status = circuits.SetUp(*chooser, input, output).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_EQ(refused(3, 8), "input: 3 is busy with circuit 3 -> 9");
  EXPECT_EQ(refused(5, 9), "output: 9 is busy with circuit 3 -> 9");
  EXPECT_EQ(refused(3, 7),
            "input: 3 is busy with circuit 3 -> 9; output: 7 is busy with circuit 4 -> 7");
  EXPECT_EQ(circuits.SetUp(*chooser, 16, 0).status().message(), "input: 16 is outside 0..15");
  EXPECT_EQ(circuits.SetUp(*chooser, 0, 16).status().message(), "output: 16 is outside 0..15");
  EXPECT_EQ(circuits.Release(5).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(circuits.Release(16).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(circuits.size(), 2u);
}

TEST(CircuitSet, RefusesAGivenPathThatEndsElsewhere) {
  const Network b = Make(NetworkKind::kButterfly, 8);
  CircuitSet circuits(b);
  EXPECT_EQ(circuits.SetUp({1, 2, 0b011, PathChoice::kGiven}).message(),
            "output: the path given ends at row 3, not at 2");
  EXPECT_TRUE(circuits.SetUp({1, 3, 0b011, PathChoice::kGiven}).ok());
  EXPECT_EQ(circuits.AtOutput(3)->choice, PathChoice::kGiven);
}

TEST(CircuitSet, SetsUpABatchWhollyOrNotAtAll) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 16);
  const RouteResult routed =
      RoutePermutation("minimum", bb, PermutationByName("random", 16, 1).value()).value();
  CircuitSet circuits(bb);
  ASSERT_TRUE(circuits.SetUpAll(routed.paths).ok());
  EXPECT_EQ(circuits.circuits(), routed.paths);
  EXPECT_EQ(circuits.load().Congestion(), routed.congestion);
  circuits.Clear();
  ASSERT_TRUE(circuits.SetUp(routed.paths[15]).ok());
  EXPECT_EQ(circuits.SetUpAll(routed.paths).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(circuits.circuits(), (std::vector<CircuitPath>{routed.paths[15]}));
}

TEST(Protocols, RouteOnTopOfTheCircuitsThatStay) {
  const Network b = Make(NetworkKind::kButterfly, 4);
  CircuitSet circuits(b);
  ASSERT_TRUE(circuits.SetUp({0b00, 0b11, 0b11, PathChoice::kGiven}).ok());  // 00 -> 10 -> 11
  const auto result = RoutePermutation("greedy", circuits.load(), {{0b10, 0b10}}).value();
  EXPECT_EQ(result.congestion, 1u);
  // 10 -> 10 shares node 10 of level 1 with it; 10 -> 11 would share the link, were the output
  // free.
  EXPECT_EQ(RoutePermutation("greedy", circuits.load(), {{0b10, 0b11}}).value().congestion, 2u);
  EXPECT_EQ(circuits.size(), 1u);
}

// By hand, dimension 1 first. 0 -> 0 and 1 -> 0 -> 0 -> 4 both stand in row 0 while dimension 2 is
// crossed, but only links to another row are links of the cube.
TEST(Protocols, CountNoLinkOfAHypercubeWhereAPathKeepsItsRow) {
  const Network cube = Make(NetworkKind::kHypercube, 8);
  const RouteResult routed =
      RoutePermutation("greedy", cube, Permutation{0, 4, 1, 2, 3, 5, 6, 7}).value();
  EXPECT_EQ(routed.congestion, 1u);
  EXPECT_EQ(routed.dilation, 3) << "of 4 -> 3, which changes all three bits";
  // 1 -> 4, 2 -> 1, 3 -> 2 and 4 -> 3 change the row in dimension 1, two of them in dimension 2,
  // two in dimension 3. Each dimension has 8 links.
  EXPECT_EQ(routed.stage_load, (std::vector<std::vector<uint32_t>>{{4, 4}, {6, 2}, {6, 2}}));
  const RouteResult still =
      RoutePermutation("greedy", cube, PermutationByName("identity", 8, 0).value()).value();
  EXPECT_EQ(still.congestion, 0u);
  EXPECT_EQ(still.dilation, 0);
  EXPECT_EQ(still.stage_congestion, (std::vector<uint32_t>{0, 0, 0}));

  LinkLoad load(cube);
  const LinkCapacity one{.every_link = 1, .of_link = {}};
  const Tag stays = GreedyTag(cube, 0, 0), crosses = GreedyTag(cube, 1, 4);
  load.Add(0, stays);
  EXPECT_FALSE(FirstFullLink(one, load, cube, 1, crosses).has_value());
  load.Add(1, crosses);
  EXPECT_EQ(load.on({1, 0, 0}), 2u) << "both pass there";
  EXPECT_EQ(load.Congestion(), 1u);
  EXPECT_EQ(load.StageCongestion(), (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(load.MaxOnPath(0, stays), 0u);
  EXPECT_EQ(load.MaxOnPath(1, crosses), 1u);
  // 1 -> 0 -> 0 -> 0 shares the link from 1 to 0 with it.
  EXPECT_EQ(FirstFullLink(one, load, cube, 1, stays), cube.link_index({0, 1, 0}));
  // The same on top of the circuits that stay.
  EXPECT_EQ(RoutePermutation("greedy", load, {{2, 0}}).value().congestion, 1u);
}

TEST(Protocols, RefuseWrongRequestsNamingThem) {
  const Network b = Make(NetworkKind::kButterfly, 8);
  const LinkLoad empty(b);
  const auto error = [&](const std::vector<Request>& requests) {
    const absl::Status status = RoutePermutation("greedy", empty, requests).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error({{0, 0}, {8, 1}}), "inputs[1]: 8 is outside 0..7");
  EXPECT_EQ(error({{0, 9}}), "outputs[0]: 9 is outside 0..7");
  EXPECT_EQ(error({{0, 0}, {1, 1}, {0, 2}}), "inputs[2]: row 0 is used twice, first by inputs[0]");
  EXPECT_EQ(error({{0, 0}, {1, 1}, {2, 1}}),
            "outputs[2]: row 1 is used twice, first by outputs[1]");
  EXPECT_EQ(RoutePermutation("greedy", b, Permutation{0, 1}).status().message(),
            "permutation: 2 outputs given, the network has 8 rows");
  EXPECT_TRUE(RoutePermutation("greedy", empty, {}).value().paths.empty());
}

TEST(Protocols, AreRefusedOnNetworksTheyAreNotDefinedFor) {
  const absl::Status minimum = MakeChooser("minimum", Make(NetworkKind::kButterfly, 8)).status();
  EXPECT_EQ(minimum.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(minimum.message()),
              HasSubstr("protocol: minimum is not defined on a butterfly; it needs "));
  const absl::Status unknown = FindProtocol("maximum", NetworkKind::kButterfly).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("\"maximum\" is not known; use one of "));
  for (const Protocol* protocol : AllProtocols())
    EXPECT_THAT(unknown.message(), HasSubstr(protocol->name));
}

TEST(Protocols, RefuseThresholdsOutOfRange) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 8);
  const Permutation pi = PermutationByName("identity", 8, 0).value();
  EXPECT_EQ(RoutePermutation("collision", bb, pi, {.c = 255}).status().message(),
            "c: 255 is outside 1..254 (0: the protocol's own)");
  EXPECT_EQ(RoutePermutation("q_limited", bb, pi, {.q = 1000}).status().message(),
            "q: 1000 is outside 1..254 (0: the protocol's own)");
  EXPECT_TRUE(RoutePermutation("collision", bb, pi, {.c = 254}).ok());
}

TEST(Protocols, RefuseThresholdsThatTheyDoNotHave) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 8);
  const Permutation pi = PermutationByName("identity", 8, 0).value();
  for (const char* protocol :
       {"minimum", "collision", "greedy", "one_choice", "valiant", "q_limited", "ranade_flip"}) {
    const auto refused = [&](const ProtocolOptions& options) {
      return absl::IsInvalidArgument(RoutePermutation(protocol, bb, pi, options).status());
    };
    const bool rounds = std::string(protocol) == "collision";
    EXPECT_EQ(refused({.c = 3}), !rounds) << protocol;
    EXPECT_EQ(refused({.max_rounds = 1}), !rounds) << protocol;
    EXPECT_EQ(refused({.q = 5}), std::string(protocol) != "q_limited") << protocol;
    EXPECT_FALSE(refused({})) << protocol;
  }
  EXPECT_EQ(RoutePermutation("minimum", bb, pi, {.c = 3}).status().message(),
            "c: protocol minimum does not take it, collision does");
}

TEST(Protocols, RefuseWorkersOutOfRangeOrOfNoUse) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, 8);
  const Network benes = Make(NetworkKind::kBenes, 8);
  const Permutation pi = PermutationByName("identity", 8, 0).value();
  EXPECT_EQ(RoutePermutation("benes", benes, pi, {.workers = 65}).status().message(),
            "workers: 65 is outside 1..64 (0: 1)");
  const absl::Status alone = RoutePermutation("minimum", bb, pi, {.workers = 2}).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(alone.message()),
              HasSubstr("workers: minimum runs on one thread, not on 2; several can share the "
                        "work of collision or benes"));
  EXPECT_TRUE(RoutePermutation("collision", bb, pi, {.workers = 2}).ok());
  for (const uint32_t workers : {0u, 1u}) {
    EXPECT_TRUE(RoutePermutation("minimum", bb, pi, {.workers = workers}).ok());
  }
  EXPECT_TRUE(RoutePermutation("benes", benes, pi, {.workers = 64}).ok());
}

TEST(Protocols, ThatNeedAllRequestsTogetherSaySo) {
  const absl::Status status =
      MakeChooser("collision", Make(NetworkKind::kTwoFoldButterfly, 8)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "protocol: collision routes all requests together, not one at a time");
}

TEST(SwitchSettings, BelongToTheTwoFoldButterflyOnly) {
  EXPECT_EQ(SwitchSettings::Make(Make(NetworkKind::kButterfly, 8)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Churn, AnAnswerWithoutAPortForEachHopEndsIt) {
  const auto steps = ParseChurn("setup 0 0\n", 8, "f").value();
  for (const size_t ports : {0u, 1u, 3u}) {
    const ChurnTarget target{.execute =
                                 [&](const std::vector<ChurnStep>&) {
                                   return std::vector<ChurnAnswer>{
                                       ChurnPath({0, 0, 0}, std::vector<uint32_t>(ports, 0))};
                                 },
                             .wait = [](double at, const ChurnReport&) { return at; }};
    EXPECT_EQ(RunChurn(8, 3, {.rate = 1, .adversary = steps}, target).status(),
              absl::InternalError(absl::StrCat("a path of 3 rows has ", ports, " ports")));
  }
}

}  // namespace
}  // namespace bfly::control
