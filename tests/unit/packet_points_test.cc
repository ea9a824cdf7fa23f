// SPDX-License-Identifier: Apache-2.0
// Points of experiments about packets: their names, how long they run, which of them are refused
// before the first trial, and which figures their trials have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/experiment_file.h"
#include "control/measure/packets/packet_point.h"
#include "control/measure/packets/packet_tables.h"
#include "dataplane/runtime/cpus.h"
#include "tests/temporary_folder.h"
#include "tests/unit/experiment_message.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// The experiment in a file with this text, or the error.
absl::StatusOr<std::unique_ptr<Experiment>> Parsed(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "e.yaml") << text;
  return ReadExperiment(folder / "e.yaml", {});
}

std::string RefusalOf(const std::string& text) {
  return std::string(Parsed(text).status().message());
}

std::vector<PacketPoint> PacketPointsIn(const std::string& text) {
  const auto experiment = Parsed(text);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  return PointsOf(MessageOf<v1::Experiment>(**experiment)).value();
}

// The trial of the first point.
Trial TrialIn(const std::string& text) {
  const auto experiment = Parsed(text);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  const auto& message = MessageOf<v1::Experiment>(**experiment);
  const auto trial = RunTrial(message, PointsOf(message).value().at(0), 1);
  EXPECT_TRUE(trial.ok()) << trial.status();
  return *trial;
}

TEST(PacketPoints, WarmUpFollowsTheBusiestLink) {
  // 8 (stages / x + 1 / x^2), x = 1 - the load of the busiest link. At p = 1/2 that link carries
  // lambda = 2 rho where nodes share links, and in the first of two copies.
  const v1::Experiment none;
  PacketPoint point{.d = 6, .p = .5, .rho = .495};
  EXPECT_NEAR(WarmupOf(none, point), 8 * (6 / .505 + 1 / (.505 * .505)), 1e-6);
  point.links = dataplane::LinkModel::kSwitchOutput;
  EXPECT_NEAR(WarmupOf(none, point), 8 * (600 + 1e4), 1e-6);
  for (const NetworkKind kind : {NetworkKind::kTwoFoldButterfly, NetworkKind::kBenes}) {
    EXPECT_NEAR(WarmupOf(none, {.network = kind, .d = 4, .rho = .25}), 8 * (8 / .5 + 4), 1e-9);
  }
  EXPECT_THAT(RefusalOf("name: x\nnetwork: two_fold_butterfly\nd: 16\nrho: .9\n"),
              HasSubstr("is beyond what the network carries"));
}

TEST(PacketPoints, WarmUpIsThatOfTheBusiestSeedThatIsNotSaturated) {
  const v1::Experiment none;
  const std::string text = "name: x\nnetwork: butterfly\nd: 5\npattern: randperm\nseeds: 1..20\n";
  // Some of these permutations put three packets on a link, and seed 0 has only two.
  PacketPoint point = PacketPointsIn(text + "load: .33\n").at(0);
  EXPECT_EQ(*WorstLink(point, 0), 2);
  EXPECT_NEAR(WarmupOf(none, point), 8 * (5 / .01 + 1 / .0001), 1e-6);
  // Three packets are more than a link carries now.
  point = PacketPointsIn(text + "load: .45\n").at(0);
  EXPECT_GE(point.worst_link, 3);
  EXPECT_EQ(point.worst_carried_link, 2);
  EXPECT_NEAR(WarmupOf(none, point), 8 * (5 / .1 + 1 / .01), 1e-6);
  // No link carries what two or more packets bring.
  point = PacketPointsIn(text + "load: .9\n").at(0);
  EXPECT_EQ(point.worst_carried_link, point.worst_link);
  EXPECT_NEAR(WarmupOf(none, point), 8 * (5 / .3 + 1 / .09), 1e-6);

  point = PacketPointsIn(
              "name: x\nnetwork: multibutterfly\nmultiplicity: 2\nport_rule: random\nd: 5\n"
              "pattern: bitrev\nload: .1\nseeds: 1..20\n")
              .at(0);
  std::vector<double> of_seeds;
  for (uint64_t seed = 1; seed <= 20; ++seed) of_seeds.push_back(*WorstLink(point, seed));
  const auto [least, most] = std::minmax_element(of_seeds.begin(), of_seeds.end());
  EXPECT_LT(*least, *most) << "the wirings differ";
  EXPECT_EQ(point.worst_link, *most);
}

TEST(PacketPoints, AreRefusedForTheirNumberBeforeAnyPatternIsCounted) {
  const std::string text = "name: x\nnetwork: butterfly\nd: 5\npattern: nonsense\nload: [.1, .2]\n";
  EXPECT_THAT(RefusalOf(text + "seeds: 1..50000\n"), HasSubstr("pattern: \"nonsense\" is unknown"));
  EXPECT_THAT(RefusalOf(text + "seeds: 1..50001\n"),
              HasSubstr("the lists and seeds give 100002 trials (allowed: 1 to 100000)"));
}

TEST(PacketPoints, AreRefusedBeforeTheFirstTrialIfTheEngineCannotRunThem) {
  // lambda = .5 / .0004.
  EXPECT_THAT(RefusalOf("name: x\nnetwork: hypercube\nd: 2\np: [0.5, 0.0004]\nrho: .5\n"),
              HasSubstr("rho: d=2 p=0.0004 rho=0.5 cannot be run: rate: 1250 is outside"));
  // 36 routing bits and 21 bits for twice 652,800 units leave 7 bits of a word for parts of a unit.
  EXPECT_THAT(RefusalOf("name: x\nnetwork: two_fold_butterfly\nd: 18\nrho: .495\n"),
              HasSubstr("rho=0.495 cannot be run: duration: 652800 units"));
}

TEST(PacketPoints, HaveNamesOfTheirOwnUnderBernoulliArrivals) {
  Report report;
  for (const PacketPoint& point :
       PacketPointsIn("name: x\nnetwork: butterfly\nd: 3\npattern: uniform\nload: 0.5\n"
                      "arrivals: bernoulli\nslot: [1, 0.5]\n")) {
    Trial trial{.batch_delays = {}};
    report.series.push_back({.point = point, .trials = {trial}, .saturated = true});
  }
  ASSERT_EQ(report.series.size(), 2u);
  EXPECT_NE(report.series[0].point.ToString(), report.series[1].point.ToString());
  const std::string table = SaturationTable(report);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2) << table;
}

TEST(PacketPoints, HaveACoupledPathWhereThePaperHasOne) {
  const std::string coupled =
      "d: 2\nrho: .2\ndiscipline: processor_sharing\ncoupled: true\npackets: 1000\n";
  EXPECT_THAT(RefusalOf("name: x\nnetwork: benes\n" + coupled),
              HasSubstr("coupled: no point of this experiment has a coupled sample path: the paper "
                        "couples paths of hypercubes and butterflies alone"));
  EXPECT_THAT(RefusalOf("name: x\nnetwork: butterfly\nslot: 1\n" + coupled),
              HasSubstr("time is slotted"));
  EXPECT_EQ(
      TrialIn("name: x\nnetwork: [benes, butterfly]\n" + coupled).figures.count("coupled_links"),
      0u);
  EXPECT_GT(TrialIn("name: x\nnetwork: [butterfly, benes]\n" + coupled).figure("coupled_links"), 0);
}

TEST(PacketPoints, NeedACpuForEachWorkerOnTheWallClock) {
  const size_t cpus = dataplane::UsableCpus().size();
  if (cpus >= 40) GTEST_SKIP() << "needs fewer than 40 CPUs: a worker has a stage, of at most 40";
  const auto experiment = Parsed(absl::StrCat(
      "name: x\nnetwork: two_fold_butterfly\nd: 20\nrho: .01\npackets: 100\nclock: wall\n"
      "unit_us: 1000000\nworkers: ",
      cpus + 1, "\n"));
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(std::string((*experiment)->Start().status().message()),
              HasSubstr(absl::StrCat("workers: ", cpus + 1, " is more than the CPUs")));
}

TEST(PacketPoints, SharedLinksAreOneKindAndAllOfThemAreUsed) {
  // Uniform traffic brings .8 to every link. A link that shares its rate among packets holds none
  // for 1 - .8 of the time (product form).
  const Trial trial = TrialIn(
      "name: x\nnetwork: butterfly\nd: 3\npattern: uniform\nload: .8\npackets: 200000\n"
      "links: switch_output\ndiscipline: processor_sharing\n");
  EXPECT_NEAR(trial.figure("link_idlest"), .8, .03);
  EXPECT_NEAR(trial.figure("link_busiest"), .8, .03);
  EXPECT_NEAR(trial.figure("link_holds_0"), .2, .01);
  for (const char* none :
       {"straight_idlest", "cross_idlest", "straight_holds_0", "cross_holds_0"}) {
    EXPECT_EQ(trial.figures.count(none), 0u) << none;
  }
}

TEST(PacketPoints, AClassOfWhichNoPacketCameHasNoDelay) {
  // About 240 packets, each of them of the last class with probability 1e-6.
  const Trial trial = TrialIn(
      "name: x\nnetwork: hypercube\nd: 1\np: 1\nrho: .5\npackets: 100\n"
      "discipline: priority\nclass_shares: [0.999999, 0.000001]\n");
  EXPECT_EQ(trial.figures.count("class_delay_0"), 1u);
  EXPECT_EQ(trial.figures.count("class_delay_1"), 0u);
}

}  // namespace
}  // namespace bfly::control
