// SPDX-License-Identifier: Apache-2.0
// Experiments about packets and circuits on networks with several links a direction, extra stages
// and faults: what a file may say, what links carry of a pattern, and what a trial finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bfly/v1/circuit_experiment.pb.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/circuits/circuit_claims.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/experiment_file.h"
#include "control/measure/packets/packet_point.h"
#include "tests/unit/experiment_message.h"
#include "topologies/permutation.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The experiment in a file with this text, or the error.
absl::StatusOr<std::unique_ptr<Experiment>> Parsed(const std::string& text) {
  std::string folder = testing::TempDir() + "bfly-networks-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/e.yaml") << text;
  auto experiment = ReadExperiment(folder + "/e.yaml", {});
  std::filesystem::remove_all(folder);
  return experiment;
}

std::string RefusalOf(const std::string& text) {
  return std::string(Parsed(text).status().message());
}

std::vector<PacketPoint> PacketPointsIn(const std::string& text) {
  const auto experiment = Parsed(text);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  return PointsOf(MessageOf<v1::Experiment>(**experiment)).value();
}

TEST(PacketNetworks, EachNetworkHasTheKeysOfItsKind) {
  const std::vector<PacketPoint> points = PacketPointsIn(
      "name: x\nnetwork: [butterfly, dilated_butterfly, multibutterfly]\nd: 4\nmultiplicity: 2\n"
      "port_rule: random\nparallel_edges: avoid\nextra_stages: [0, 3]\nfaulty_switches: [0, 2]\n"
      "pattern: uniform\nload: 0.5\n");
  std::vector<std::string> names;
  for (const PacketPoint& point : points) names.push_back(point.ToString());
  EXPECT_THAT(names, ElementsAre("butterfly r=0 faults=0 d=4 uniform load=0.5",
                                 "butterfly r=0 faults=2 d=4 uniform load=0.5",
                                 "butterfly r=3 faults=0 d=4 uniform load=0.5",
                                 "butterfly r=3 faults=2 d=4 uniform load=0.5",
                                 "dilated_butterfly x2 faults=0 d=4 uniform load=0.5",
                                 "dilated_butterfly x2 faults=2 d=4 uniform load=0.5",
                                 "multibutterfly x2 faults=0 d=4 uniform load=0.5",
                                 "multibutterfly x2 faults=2 d=4 uniform load=0.5"));
  EXPECT_EQ(points[6].network_spec(3).parallel_edges, ParallelEdges::kAvoid);
  EXPECT_EQ(points[4].network_spec(3).rule, PortRule::kRandom);
  EXPECT_EQ(points[2].network_spec(3).extra_stages, 3);
  EXPECT_EQ(points[3].ToCsv(), "4,uniform,0.5,0,0.5,fifo,butterfly,1,3,2");
  EXPECT_EQ(points[7].ToJson()["network"], "multibutterfly");
  // A file with one network and none of the new keys is told as before.
  const PacketPoint alone =
      PacketPointsIn("name: x\nnetwork: butterfly\nd: 4\npattern: uniform\nload: 0.5\n")[0];
  EXPECT_EQ(alone.ToString(), "d=4 uniform load=0.5");
  EXPECT_EQ(alone.ToCsv(), "4,uniform,0.5,0,0.5,fifo");
  EXPECT_FALSE(alone.ToJson().contains("network"));
}

TEST(PacketNetworks, RefuseWhatNoNetworkOfTheFileHas) {
  const std::string butterfly = "name: x\nnetwork: butterfly\nd: 3\nrho: .5\n";
  const std::string splitters = "name: x\nnetwork: multibutterfly\nd: 3\nrho: .5\n";
  EXPECT_EQ(RefusalOf(splitters), "");
  EXPECT_EQ(RefusalOf(splitters + "multiplicity: 4\n"), "");
  EXPECT_THAT(RefusalOf(splitters + "multiplicity: 5\n"),
              HasSubstr("multiplicity: 5 is more than"));
  EXPECT_THAT(RefusalOf(splitters + "multiplicity: 17\n"), HasSubstr("(allowed: 1 to 16)"));
  EXPECT_THAT(RefusalOf(splitters + "extra_stages: 1\n"), HasSubstr("needs kind butterfly"));
  EXPECT_THAT(RefusalOf(butterfly + "extra_stages: 21\n"), HasSubstr("(allowed: 0 to 20)"));
  EXPECT_THAT(RefusalOf(butterfly + "parallel_edges: avoid\n"),
              HasSubstr("needs kind multibutterfly"));
  EXPECT_THAT(RefusalOf(butterfly + "faulty_switches: 17\n"),
              HasSubstr("faulty_switches: 17 is outside 0..16"));
  EXPECT_THAT(RefusalOf(butterfly + "extra_stages: 1\nclock: wall\n"),
              HasSubstr("extra_stages is measured under the virtual clock alone"));
  EXPECT_THAT(RefusalOf(butterfly + "faulty_switches: 1\nclock: wall\n"),
              HasSubstr("faulty_switches is measured under the virtual clock alone"));
  EXPECT_THAT(RefusalOf("name: x\nnetwork: hypercube\nd: 3\nrho: .1\nscheme: valiant_brebner\n"
                        "faulty_switches: 1\n"),
              HasSubstr("faulty_switches: packets of the scheme valiant_brebner"));
  EXPECT_THAT(RefusalOf("name: x\nnetwork: multibutterfly\nd: 16\nmultiplicity: 4\n"
                        "pattern: bitrev\nload: .1\n"),
              HasSubstr("d: 16 is too large for pattern bitrev on multibutterfly"));
}

// All multiplicity^d paths of every pair, walked one by one.
double WorstByWalking(const Network& network, const Permutation& outputs) {
  std::vector<double> load(network.link_count());
  const int width = network.multiplicity(), d = network.dimension();
  const auto ways = static_cast<uint64_t>(std::llround(std::pow(width, d)));
  for (Row input = 0; input < network.rows(); ++input) {
    for (uint64_t way = 0; way < ways; ++way) {
      Row row = input;
      uint64_t rest = way;
      for (int stage = 0; stage < d; ++stage, rest /= static_cast<uint64_t>(width)) {
        const int direction = static_cast<int>(outputs[input] >> (d - 1 - stage) & 1);
        const int port = direction * width + static_cast<int>(rest % static_cast<uint64_t>(width));
        load[network.link_index({stage, row, port})] += 1.0 / static_cast<double>(ways);
        row = network.next_row(stage, row, port);
      }
    }
  }
  return *std::max_element(load.begin(), load.end());
}

TEST(PacketNetworks, TheWorstLinkIsCountedOverAllPaths) {
  for (const int multiplicity : {2, 3}) {
    for (const char* pattern : {"bitrev", "transpose", "randperm"}) {
      PacketPoint point{.network = NetworkKind::kMultibutterfly, .d = 4};
      point.pattern = pattern;
      point.multiplicity = multiplicity;
      for (const uint64_t seed : {1, 2}) {
        const Network network = *Network::Make(point.network_spec(seed));
        EXPECT_NEAR(*WorstLink(point, seed), WorstByWalking(network, *PermutationOf(point, seed)),
                    1e-12);
      }
    }
  }
  // By hand: bit reversal puts 4 packets on a link of B_64, and each extra stage halves that.
  PacketPoint point{.d = 6, .pattern = "bitrev"};
  EXPECT_EQ(*WorstLink(point, 1), 4);
  for (const auto& [extra, worst] :
       {std::pair(0u, 4.0), {1u, 2.0}, {2u, 1.0}, {3u, .5}, {7u, .5}}) {
    point.extra_stages = extra;
    EXPECT_EQ(*WorstLink(point, 1), worst) << extra;
  }
  point.pattern = "uniform";
  EXPECT_EQ(*WorstLink(point, 1), .5);
  // The first of two copies is crossed straight: its straight links carry all, its cross links
  // nothing.
  for (const NetworkKind kind : {NetworkKind::kTwoFoldButterfly, NetworkKind::kBenes}) {
    EXPECT_EQ(*WorstLink({.network = kind, .d = 3, .pattern = "uniform"}, 1), 1) << KindName(kind);
  }
}

TEST(PacketNetworks, OnlyRulesWhoseLoadsAreKnownHaveAWorstLink) {
  PacketPoint point{.network = NetworkKind::kMultibutterfly, .d = 4, .multiplicity = 2};
  for (const PortRule rule : AllRules()) {
    point.rule = rule;
    point.pattern = "bitrev";
    EXPECT_EQ(KnowsWorstLink(point), rule == PortRule::kRandom) << RuleName(rule);
    point.pattern = "uniform";
    EXPECT_EQ(KnowsWorstLink(point), rule == PortRule::kRandom || rule == PortRule::kRoundRobin);
    for (const char* pattern : {"bitrev", "uniform"}) {
      PacketPoint dilated{.network = NetworkKind::kDilatedButterfly, .d = 4, .pattern = pattern};
      dilated.multiplicity = 2;
      dilated.rule = rule;
      EXPECT_EQ(KnowsWorstLink(dilated), rule != PortRule::kFirstFree) << RuleName(rule);
    }
  }
  point.faults = 1;
  EXPECT_FALSE(KnowsWorstLink(point));
  EXPECT_TRUE(KnowsWorstLink({.network = NetworkKind::kMultibutterfly, .pattern = "bitrev"}));
}

Trial TrialIn(const std::string& text, uint64_t seed = 1) {
  const auto experiment = Parsed(text);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  const auto& message = MessageOf<v1::Experiment>(**experiment);
  const auto trial = RunTrial(message, PointsOf(message).value().at(0), seed);
  EXPECT_TRUE(trial.ok()) << trial.status();
  return *trial;
}

TEST(PacketNetworks, TrialsObeyLittlesLawAndLeaveOutWhatFaultsCutOff) {
  const std::string common = "d: 5\npattern: bitrev\nload: 0.4\npackets: 30000\nseeds: 9\n";
  const Trial whole =
      TrialIn("name: x\nnetwork: multibutterfly\nmultiplicity: 2\nport_rule: random\n" + common);
  EXPECT_NEAR(whole.mean_population / (whole.offered * 32 * whole.mean_delay), 1, .03);
  EXPECT_GE(whole.mean_delay, 5);
  EXPECT_EQ(whole.figures.count("left_out"), 0u);
  EXPECT_EQ(whole.figures.count("worst_link"), 1u);
  const Trial around =
      TrialIn("name: x\nnetwork: multibutterfly\nmultiplicity: 2\nfaulty_switches: 6\n" + common);
  EXPECT_NEAR(around.mean_population / (around.offered * 32 * around.mean_delay), 1, .03);
  EXPECT_EQ(around.figures.count("worst_link"), 0u);
  EXPECT_LT(around.figure("left_out"), .7);
  EXPECT_NEAR(around.offered, .4 * (1 - around.figure("left_out")), .02);
  const Trial extra = TrialIn("name: x\nnetwork: butterfly\nextra_stages: 5\n" + common);
  EXPECT_GE(extra.mean_delay, 10);
  EXPECT_NEAR(extra.accepted, .4, .02);
}

TEST(PacketNetworks, FaultsThatLeaveNoPathAreAnErrorAndNoLoop) {
  // All 16 switches between the inputs and outputs of B_8 are faulty.
  const auto experiment = Parsed(
      "name: x\nnetwork: butterfly\nd: 3\nfaulty_switches: 16\npattern: uniform\nload: "
      ".5\npackets: 1000\n");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto& message = MessageOf<v1::Experiment>(**experiment);
  const auto trial = RunTrial(message, PointsOf(message)->at(0), 4);
  EXPECT_EQ(trial.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(trial.status().message()), HasSubstr("leave no packet a path"));
}

std::vector<CircuitPoint> CircuitPointsIn(const std::string& text) {
  const auto experiment = Parsed(text);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  return CircuitPointsOf(MessageOf<v1::CircuitExperiment>(**experiment)).value();
}

TEST(CircuitNetworks, ProtocolsRunOnTheNetworksTheyAreDefinedOn) {
  const std::vector<CircuitPoint> points = CircuitPointsIn(
      "name: x\nprotocol: [greedy, disjoint]\nnetwork: [butterfly, dilated_butterfly, "
      "multibutterfly]\nmultiplicity: [2, 4]\nparallel_edges: avoid\nd: 4\n");
  std::vector<std::string> names;
  for (const CircuitPoint& point : points) names.push_back(point.ToString());
  EXPECT_THAT(
      names, ElementsAre(
                 "greedy butterfly random d=4", "greedy dilated_butterfly x2 random d=4",
                 "greedy dilated_butterfly x4 random d=4", "greedy multibutterfly x2 random d=4",
                 "greedy multibutterfly x4 random d=4", "disjoint dilated_butterfly x2 random d=4",
                 "disjoint dilated_butterfly x4 random d=4",
                 "disjoint multibutterfly x2 random d=4", "disjoint multibutterfly x4 random d=4"));
  EXPECT_TRUE(points[0].is_on_own_network());
  EXPECT_FALSE(points[1].is_on_own_network());
  EXPECT_EQ(points[8].network_spec(1).parallel_edges, ParallelEdges::kAvoid);
  EXPECT_EQ(points[7].ToCsv(), "disjoint,multibutterfly,4,random,0,0,0,2");
  // Without the key a protocol runs where its paper has it.
  EXPECT_EQ(CircuitPointsIn("name: x\nprotocol: minimum\nd: 4\n")[0].ToCsv(),
            "minimum,two_fold_butterfly,4,random,0,0,0");
}

TEST(CircuitNetworks, RefuseWhatCannotBe) {
  EXPECT_THAT(RefusalOf("name: x\nprotocol: disjoint\nd: 4\n"),
              HasSubstr("network: is missing; protocol: disjoint is not defined on"));
  EXPECT_THAT(RefusalOf("name: x\nprotocol: benes\nnetwork: multibutterfly\nd: 4\n"),
              HasSubstr("protocol: benes is not defined on a multibutterfly; it needs benes"));
  EXPECT_THAT(RefusalOf("name: x\nprotocol: lock_down\nnetwork: multibutterfly\nd: 4\n"),
              HasSubstr("protocol: lock_down is not defined on a multibutterfly"));
  EXPECT_THAT(RefusalOf("name: x\nprotocol: nonsense\nnetwork: multibutterfly\nd: 4\n"),
              HasSubstr("protocol[0]: \"nonsense\" is unknown"));
  EXPECT_THAT(RefusalOf("name: x\nprotocol: minimum\nnetwork: multibutterfly\nmultiplicity: 9\n"
                        "d: 4\n"),
              HasSubstr("multiplicity: 9 is more than a splitter of 16 rows"));
  EXPECT_THAT(RefusalOf("name: x\nprotocol: minimum\nparallel_edges: avoid\nd: 4\n"),
              HasSubstr("parallel_edges: needs network multibutterfly"));
}

Trial CircuitTrialOf(const CircuitPoint& point, uint64_t seed) {
  const auto trial = RunCircuitTrial(point, seed);
  EXPECT_TRUE(trial.ok()) << trial.status();
  return *trial;
}

TEST(CircuitNetworks, DisjointIsRefusedExactlyWhereCountingSaysSo) {
  // Bit reversal sends 2^(ceil(d/2)-1) paths over one link of B_n: 2 at d = 4, 4 at d = 5 and 6.
  CircuitPoint point{.protocol = "disjoint",
                     .network = NetworkKind::kDilatedButterfly,
                     .permutation = "bitrev",
                     .names_network = true};
  for (const auto& [d, multiplicity, refused] :
       {std::tuple(4, 2, 0), {5, 2, 1}, {5, 4, 0}, {6, 2, 1}, {6, 3, 1}, {6, 4, 0}}) {
    point.d = d;
    point.multiplicity = multiplicity;
    const Trial trial = CircuitTrialOf(point, 1);
    EXPECT_EQ(trial.figure("refused"), refused) << d << " " << multiplicity;
    EXPECT_EQ(std::isnan(trial.figure("congestion")), refused == 1);
    if (refused == 0) {
      EXPECT_EQ(trial.figure("congestion"), 1);
      EXPECT_EQ(trial.figure("dilation"), d);
    }
  }
}

TEST(CircuitNetworks, MinimumSharesParallelLinksOutEvenly) {
  for (const auto& [d, multiplicity, most] :
       {std::tuple(6, 2, 2), {6, 3, 2}, {6, 4, 1}, {8, 2, 4}, {8, 3, 3}}) {
    const CircuitPoint point{.protocol = "minimum",
                             .network = NetworkKind::kDilatedButterfly,
                             .d = d,
                             .permutation = "bitrev",
                             .multiplicity = multiplicity};
    EXPECT_EQ(CircuitTrialOf(point, 1).figure("congestion"), most) << d << " " << multiplicity;
  }
}

TEST(CircuitNetworks, ClaimsOfPapersAreAboutTheNetworksOfPapers) {
  const Point elsewhere = CircuitPoint{.protocol = "collision",
                                       .network = NetworkKind::kMultibutterfly,
                                       .d = 6,
                                       .permutation = "random",
                                       .c = 4,
                                       .names_network = true,
                                       .multiplicity = 2};
  const Point own = CircuitPoint{.protocol = "collision", .d = 6, .permutation = "random", .c = 4};
  std::vector<std::string> about_elsewhere, about_own;
  for (const Claim& claim : CircuitClaims()) {
    if (claim.about(elsewhere).empty()) about_elsewhere.push_back(claim.id);
    if (claim.about(own).empty()) about_own.push_back(claim.id);
  }
  EXPECT_THAT(about_elsewhere, ElementsAre("candidates_congestion", "log_n_dilation"));
  EXPECT_THAT(about_own, testing::IsSupersetOf({"collision_congestion", "lemma_2_4_load_8",
                                                "theorem_2_1_tail", "two_fold_dilation"}));
  EXPECT_THAT(about_own, testing::Not(testing::Contains("candidates_congestion")));
}

}  // namespace
}  // namespace bfly::control
