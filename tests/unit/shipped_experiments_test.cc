// SPDX-License-Identifier: Apache-2.0
// The experiments in topologies/experiments/, cut short: every claim that applies holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "bfly/v1/circuit_experiment.pb.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/packets/packet_tables.h"
#include "control/protocols/protocol.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

std::string Shipped(const std::string& name) {
  return std::string(std::getenv("BFLY_SOURCE_ROOT")) + "/topologies/experiments/" + name + ".yaml";
}

// The report of an experiment of which only the settings differ from the file.
Report Measured(const std::string& name, const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(Shipped(name), settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  EXPECT_TRUE(journal.ok()) << journal.status();
  auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->Count(Verdict::kFail), 0) << (*experiment)->Summary(*report);
  return *std::move(report);
}

// The claims that got a verdict at some point.
std::set<std::string> Judged(const Report& report, Verdict verdict) {
  std::set<std::string> ids;
  for (const ClaimResult& claim : report.claims) {
    if (claim.verdict == verdict) ids.insert(claim.id);
  }
  return ids;
}
std::set<std::string> Passed(const Report& report) { return Judged(report, Verdict::kPass); }

using testing::IsSupersetOf;

TEST(Shipped, AllCanBeRead) {
  int files = 0;
  std::set<std::string> protocols;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(Shipped("x")).parent_path())) {
    const auto experiment = ReadExperiment(file.path(), {});
    ASSERT_TRUE(experiment.ok()) << experiment.status();
    EXPECT_EQ((*experiment)->name() + ".yaml", file.path().filename());
    EXPECT_NE((*experiment)->title(), (*experiment)->name());
    ++files;
    const auto* circuits = dynamic_cast<const v1::CircuitExperiment*>(&(*experiment)->message());
    if (circuits == nullptr) continue;
    protocols.insert(circuits->protocol().begin(), circuits->protocol().end());
    // Many trials where they are cheap, for tails; sizes up to 2^20, for growth.
    EXPECT_GE(SeedsAt(*circuits, 6).size(), circuits->permutation(0) == "random" ? 100u : 1u);
    EXPECT_EQ(circuits->d(circuits->d_size() - 1), circuits->network().empty() ? 20u : 10u)
        << file.path();
  }
  EXPECT_GE(files, 10);
  for (const Protocol* protocol : AllProtocols()) {
    EXPECT_TRUE(protocols.contains(protocol->name)) << protocol->name << " is in no shipped file";
  }
}

TEST(Shipped, GreedyOnTheButterfly) {
  const Report report = Measured("greedy-butterfly", {"d=1,3", "rho=0.5,1.1", "packets=4000"});
  EXPECT_THAT(Passed(report),
              IsSupersetOf({"prop14_lower_bound", "prop17_upper_bound", "butterfly_exact_d1",
                            "butterfly_exact_p01", "stability", "instability", "prop15_cross",
                            "prop15_mean_cross"}));
}

TEST(Shipped, GreedyOnTheHypercube) {
  const Report report =
      Measured("greedy-hypercube", {"d=1,3", "p=0.5,1", "rho=0.5,1.1", "packets=4000"});
  EXPECT_THAT(Passed(report),
              IsSupersetOf({"prop2_lower_bound", "prop3_lower_bound", "prop12_upper_bound",
                            "prop13_lower_bound", "cube_exact_d1", "cube_exact_p1",
                            "slotted_upper_bound", "stability", "instability"}));
}

TEST(Shipped, FifoAgainstSharing) {
  for (const char* network : {"network=hypercube", "network=butterfly"}) {
    const Report report =
        Measured("fifo-vs-ps", {network, "d=3", "p=0.25", "rho=0.8", "packets=4000"});
    EXPECT_THAT(Passed(report),
                IsSupersetOf({"lemma7_same_arrivals", "lemma8_earlier_arrivals", "lemma9_links",
                              "lemma10_departures", "ps_cross_holds_2"}));
  }
}

TEST(Shipped, PacketsInRounds) {
  const Report report = Measured("valiant-brebner", {"d=4", "rho=0.05,0.2", "packets=3000"});
  EXPECT_THAT(Passed(report),
              IsSupersetOf({"vb_round", "vb_boundary", "vb_one_packet_a_round", "vb_stable"}));
  ASSERT_EQ(report.series.size(), 2u);
  EXPECT_FALSE(report.series[0].saturated);
  EXPECT_TRUE(report.series[1].saturated);
}

TEST(Shipped, LatencyOverLoadOfTheFly) {
  const Report report = Measured("fly-latency-load", {"load=0.3,0.6", "packets=2000"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"pattern_carried", "pattern_saturates",
                                            "pattern_disjoint", "kruskal_snir_first_stage"}));
  // Transpose and bit reversal put 8 packets on a link, shuffle 2: 0.6 is beyond all of these, 0.3
  // beyond the first two.
  EXPECT_THAT(SaturationTable(report), testing::HasSubstr("d=6 transpose load=0.3"));
  EXPECT_THAT(SaturationTable(report), testing::HasSubstr("d=6 shuffle load=0.6"));
  EXPECT_THAT(SaturationTable(report), testing::Not(testing::HasSubstr("uniform")));
  EXPECT_THAT(PacketCsv(report, true), testing::HasSubstr("\n6,bitcomp,0.6,1,0.6,fifo,"));
  nlohmann::ordered_json results;
  AddPacketResults(report, results);
  EXPECT_THAT(results.dump(), testing::HasSubstr("\"pattern\":\"neighbor\""));
}

TEST(Shipped, LatencyOverLoadOfSeveralNetworks) {
  const Report report =
      Measured("networks-latency-load", {"load=0.2,1.5", "packets=2000", "seeds=1..10"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"pattern_carried", "pattern_saturates"}));
  // Bit reversal: 4 packets on a link of B_64, half as many where there are two links.
  const std::string table = SaturationTable(report);
  EXPECT_THAT(table, testing::HasSubstr("butterfly r=0 d=6 bitrev load=1.5"));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("butterfly r=3")));
  EXPECT_THAT(table, testing::HasSubstr("dilated_butterfly x2 d=6 bitrev load=1.5"));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("uniform")));
}

TEST(Shipped, Priorities) {
  EXPECT_THAT(Passed(Measured("priority", {"rho=0.8", "packets=10000"})),
              IsSupersetOf({"cobham_first_class", "cobham_last_class", "priority_conservation"}));
}

TEST(Shipped, CircuitsOfRandomPermutations) {
  const Report report = Measured("circuits-congestion", {"d=6,8,10", "seeds=1..12"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"collision_candidate_congestion_tail",
                                            "minimum_congestion_tail", "one_choice_congestion_tail",
                                            "valiant_congestion_tail", "greedy_congestion_tail"}));
  EXPECT_THAT(Judged(report, Verdict::kInvariant),
              testing::UnorderedElementsAre("collision_congestion", "candidate_mean_load",
                                            "candidate_random_levels", "flip_first_copy",
                                            "benes_congestion", "two_fold_dilation"));
}

TEST(Shipped, CircuitsOfPermutationsThatDefeatOneButterfly) {
  const Report report = Measured("circuits-permutations", {"d=6,9", "seeds=1"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"greedy_bitrev", "greedy_transpose"}));
  EXPECT_TRUE(Judged(report, Verdict::kInvariant).contains("greedy_identity"));
}

TEST(Shipped, CircuitsOverSeveralLinksADirection) {
  const Report report =
      Measured("circuits-multibutterfly", {"d=4,6", "seeds=1..4", "seed_limits=[]"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"greedy_bitrev", "greedy_transpose", "dilated_minimum",
                                            "dilated_disjoint_refused"}));
  EXPECT_THAT(Judged(report, Verdict::kInvariant),
              testing::UnorderedElementsAre("disjoint_congestion", "candidates_congestion",
                                            "log_n_dilation"));
}

TEST(Shipped, CircuitsOfTheDataServer) {
  const Report report = Measured("circuits-data-server", {"d=6,8,10", "seeds=1..12"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"data_server_single_copy_congestion_tail",
                                            "data_server_single_copy_disk_contention_tail"}));
  EXPECT_THAT(Judged(report, Verdict::kInvariant),
              testing::UnorderedElementsAre("data_server_congestion", "data_server_contention"));
}

TEST(Shipped, CircuitsOnLinksThatBearFew) {
  const Report report = Measured("circuits-lock-down", {"d=6,8,10", "seeds=1..12"});
  EXPECT_THAT(Passed(report), IsSupersetOf({"lock_down_fraction", "two_passes_lose_more"}));
  EXPECT_THAT(Judged(report, Verdict::kInvariant),
              IsSupersetOf({"q_limited_congestion", "two_fold_dilation"}));
}

}  // namespace
}  // namespace bfly::control
