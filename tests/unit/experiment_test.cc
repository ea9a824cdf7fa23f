// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "bfly/v1/experiment.pb.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/core/journal.h"
#include "control/measure/core/statistics.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/packets/md_c_queue.h"
#include "control/measure/packets/packet_claims.h"
#include "control/measure/packets/packet_point.h"
#include "control/measure/packets/packet_tables.h"
#include "control/measure/packets/slotted_cube.h"
#include "control/measure/trials_at_once.h"
#include "tests/temporary_folder.h"
#include "tests/unit/experiment_message.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

std::string Write(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder / "e.yaml";
  std::ofstream(path) << text;
  return path;
}

constexpr char kSmall[] =
    "name: small\nnetwork: hypercube\nd: 1\np: 0.5\nrho: [0.3, 0.8]\nseeds: 1..10\npackets: "
    "8000\ndiscipline: [fifo, processor_sharing]\n";

std::string ErrorOf(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  return std::string(ReadExperiment(Write(folder, text), overrides).status().message());
}

TEST(MeanDelayMDc, HasTheValuesOfTheory) {
  // THEORY.md 1.6; c = 1 is Pollaczek-Khinchine, 1 + rho / (2 (1 - rho)).
  const std::map<std::pair<int, double>, double> table = {
      {{1, .5}, 1.5},     {{1, .9}, 5.5},     {{2, .5}, 1.17674},  {{2, .8}, 1.90328},
      {{2, .9}, 3.14692}, {{4, .5}, 1.04965}, {{4, .8}, 1.38609},  {{4, .9}, 1.99997},
      {{8, .5}, 1.00932}, {{8, .9}, 1.44997}, {{16, .5}, 1.00081}, {{16, .9}, 1.19247}};
  for (const auto& [at, delay] : table) {
    EXPECT_NEAR(MeanDelayMDc(at.first, at.second), delay, 6e-6) << at.first << " " << at.second;
  }
}

TEST(MeanDelayMDc, IsNeverBelowTheBoundInClosedForm) {
  // Exact for one server, Pollaczek-Khinchine.
  EXPECT_NEAR(LeastDelayMDc(1, .999), 1 + .999 / .002, 1e-9);
  EXPECT_NEAR(LeastDelayMDc(2, .9), 1 + 2.25 - .25, 1e-12);
  EXPECT_EQ(LeastDelayMDc(256, .5), 1);
  for (const int c : {1, 2, 4, 16, 64}) {
    for (const double rho : {.1, .5, .9, .95}) {
      EXPECT_LE(LeastDelayMDc(c, rho), MeanDelayMDc(c, rho) * (1 + 1e-7)) << c << " " << rho;
    }
  }
}

// The exact sum would take minutes at rho = 0.999, and hours at 1 - 1e-6.
TEST(Prop2, IsComputedAtOnceCloseToSaturation) {
  const Claim claim = *(*ClaimsNamed(PacketClaims(), {"prop2_lower_bound"}))[0];
  const auto theory = [&](int d, double p, double rho) {
    return claim.theory(
        PacketPoint{.network = NetworkKind::kHypercube, .d = d, .p = p, .rho = rho});
  };
  const auto start = std::chrono::steady_clock::now();
  for (const int d : {1, 2, 8}) {
    for (const double p : {.25, .5, 1.}) {
      for (const double rho : {.981, .999, 1 - 1e-6}) {
        const double bound = theory(d, p, rho);
        EXPECT_GE(bound, std::max(d * p, p)) << d << " " << p << " " << rho;
        // More servers never make a packet wait longer: D(c) <= D(1) = 1 + rho / (2 (1 - rho)).
        EXPECT_LE(bound, std::max(d * p, p * (1 + rho / (2 * (1 - rho))))) << d << " " << rho;
      }
    }
  }
  // D >= 1 + .999 / .004 - 1 / 4 for c = 2.
  EXPECT_NEAR(theory(1, .5, .999), .5 * (1 + 249.75 - .25), 1e-6);
  EXPECT_NEAR(theory(2, 1, .999), 1 + 124.875 - .375, 1e-6);
  EXPECT_NEAR(theory(8, 1, .999), 8, 1e-9) << "1 + 1.951 - .498 is below d p";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(SlottedCube, HasTheDelaysOfTheory) {
  // THEORY.md 1.6, d = 2 in slots of a unit.
  const std::map<std::pair<double, double>, double> table = {
      {{.3, .25}, 0.604417}, {{.3, .50}, 1.191308}, {{.3, .75}, 1.738659},
      {{.5, .25}, 0.744382}, {{.5, .50}, 1.451802}, {{.5, .75}, 2.070916},
      {{.8, .25}, 1.481277}, {{.8, .50}, 2.837855}, {{.8, .75}, 3.881645}};
  for (const auto& [at, delay] : table) {
    EXPECT_NEAR(SlottedDelayOfTwoDimensions(at.first, at.second), delay, 2e-6)
        << "rho " << at.first << " p " << at.second;
  }
  // Every packet crosses both links, and waits at the first alone: 2 + rho / (2 (1 - rho)).
  EXPECT_NEAR(SlottedDelayOfTwoDimensions(.7, 1), 2 + .7 / .6, 1e-5);
}

TEST(Statistics, MeanAndIntervalOfThreeValuesAreThoseOfTheTable) {
  // 1, 2, 3: mean 2, standard deviation 1; t_{0.975} with 2 degrees of freedom is 4.302653.
  const Estimate estimate = EstimateMean({1, 2, 3});
  EXPECT_DOUBLE_EQ(estimate.mean, 2);
  EXPECT_NEAR(estimate.HalfWidth(0.95), 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_TRUE(std::isinf(EstimateMean({7}).HalfWidth(0.95)));
}

TEST(ReadExperiment, ReportsEverythingThatIsWrong) {
  const std::string errors =
      ErrorOf("name: x\nnetwork: hypercub\nd: [0, 3]\nrho: [-1, 0.5]\np: 2\nspeed: 3\n");
  EXPECT_THAT(errors, HasSubstr(":2: network: \"hypercub\" is unknown; did you mean hypercube?"));
  EXPECT_THAT(errors, HasSubstr(":3: d[0]: 0 is out of range (allowed: 1 to 20)"));
  EXPECT_THAT(errors, HasSubstr(":4: rho[0]: -1 is out of range (allowed: above 0 to 10)"));
  EXPECT_THAT(errors, HasSubstr("p: 2 is out of range (allowed: 0 to 1)"));
  EXPECT_THAT(errors, HasSubstr(":6: speed: unknown key"));
}

TEST(ReadExperiment, RefusesWhatCannotBeRun) {
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\nrho: []\n"),
              HasSubstr("rho: is missing"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\nrho: nan\n"),
              HasSubstr("is not a number"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\np: 0\nrho: .5\n"),
              HasSubstr("no packet uses a link"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: wrapped_butterfly\nd: 2\nrho: .5\n"),
              HasSubstr("not levelled"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\nrho: .5\nslot: 0.3\n"),
              HasSubstr("slot: 0.3"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\nrho: .5\nclaims: [prop99]\n"),
              HasSubstr("\"prop99\" is unknown (allowed: prop2_lower_bound"));
}

TEST(ReadExperiment, RefusesSeedsAndPointsThatAreListedTwice) {
  const std::string common = "name: x\nnetwork: butterfly\n";
  EXPECT_THAT(ErrorOf(common + "d: 2\nrho: .5\nseeds:\n  - 4\n  - 5\n  - 4\n"),
              HasSubstr(":8: seeds[2]: 4 is listed twice; trials with the same seed are not "
                        "independent"));
  EXPECT_THAT(ErrorOf(kSmall, {"seeds=1,1"}),
              HasSubstr("--set seeds=1,1: seeds[1]: 1 is listed twice"));
  EXPECT_THAT(ErrorOf(common + "rho: .5\nd: [2, 3, 2]\n"), HasSubstr(":4: d[2]: 2 is listed"));
  EXPECT_THAT(ErrorOf(kSmall, {"discipline=fifo,fifo"}),
              HasSubstr("discipline[1]: fifo is listed twice"));
  // Classes may have equal shares, and equal loads in slots of different lengths are two points.
  EXPECT_EQ(ErrorOf(kSmall, {"discipline=priority", "class_shares=0.5,0.5"}), "");
  EXPECT_EQ(ErrorOf(kSmall, {"arrivals=bernoulli", "slot=1,0.5", "rho=0.3"}), "");
}

TEST(ReadExperiment, RunsParallelLinksOnADilatedButterflyOnly) {
  const std::string dilated =
      "name: x\nnetwork: dilated_butterfly\nd: 3\nrho: .5\nmultiplicity: 2\n";
  EXPECT_EQ(ErrorOf(dilated), "");
  EXPECT_EQ(ErrorOf(dilated + "port_rule: least_occupied\n"), "");
  EXPECT_THAT(ErrorOf(dilated + "port_rule: best\n"), HasSubstr("port_rule: \"best\" is unknown"));
  EXPECT_THAT(ErrorOf(dilated, {"multiplicity=1", "port_rule=random"}),
              HasSubstr("rule: random has nothing to choose from"));
  EXPECT_THAT(ErrorOf(dilated, {"multiplicity=9"}), HasSubstr("multiplicity: 9"));
  EXPECT_THAT(ErrorOf(dilated, {"network=butterfly"}),
              HasSubstr("multiplicity: 2 needs kind dilated_butterfly"));
  EXPECT_THAT(ErrorOf(dilated, {"links=switch_output"}), HasSubstr("one port a direction"));
  // The load factor is that of one of the links.
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(Write(folder, dilated), {});
  ASSERT_TRUE(experiment.ok());
  const std::vector<PacketPoint> points = PointsOf(MessageOf<v1::Experiment>(**experiment)).value();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_DOUBLE_EQ(points[0].lambda(), 2);
}

TEST(ReadExperiment, RefusesANamedClaimThatAppliesNowhere) {
  EXPECT_THAT(ErrorOf(kSmall, {"claims=little,prop17_upper_bound"}),
              HasSubstr("claims[1]: \"prop17_upper_bound\" applies to no point of this experiment: "
                        "the network is not a butterfly"));
  // Poisson arrivals in slots are in the paper, one packet a slot or none is not.
  EXPECT_THAT(ErrorOf(kSmall, {"claims=stability", "arrivals=bernoulli", "slot=1", "rho=0.3"}),
              HasSubstr("arrivals are not Poisson"));
  EXPECT_EQ(ErrorOf(kSmall, {"claims=little", "arrivals=bernoulli", "slot=1", "rho=0.3"}), "");
}

TEST(ReadExperiment, ChecksDisciplines) {
  EXPECT_THAT(ErrorOf(kSmall, {"discipline=fair"}),
              HasSubstr("\"fair\" is unknown (allowed: one of fifo, processor_sharing, priority)"));
  EXPECT_THAT(ErrorOf(kSmall, {"discipline=priority"}), HasSubstr("class_shares: sum to 0"));
  EXPECT_THAT(ErrorOf(kSmall, {"discipline=priority", "class_shares=0.5,0.4"}),
              HasSubstr("class_shares: sum to 0.9 (allowed: 1"));
  EXPECT_THAT(ErrorOf(kSmall, {"class_shares=-1"}),
              HasSubstr("-1 is out of range (allowed: above 0 to 1)"));
}

TEST(ReadExperiment, RefusesWhatSweepsNothingOrCannotEnd) {
  EXPECT_THAT(ErrorOf("name: x\nnetwork: hypercube\nd: 2\n"), HasSubstr("rho: is missing"));
  EXPECT_THAT(
      ErrorOf("name: x\nnetwork: butterfly\nd: 2\npattern: uniform\n"),
      HasSubstr("load: is missing: an experiment sweeps d and rho, or d, pattern and load"));
  EXPECT_THAT(ErrorOf("name: x\nnetwork: butterfly\nd: []\nrho: .5\n"), HasSubstr("d: is missing"));
  EXPECT_THAT(ErrorOf(kSmall, {"packets=1000000000000"}),
              HasSubstr("units of time (allowed: up to 9e7)"));
  EXPECT_THAT(ErrorOf(kSmall, {"warmup=1e8"}), HasSubstr("packets and warmup: d=1 p=0.5 rho=0.3"));
  EXPECT_THAT(ErrorOf(kSmall, {"packets=1000000000000", "d=18"}),
              HasSubstr("hops, which does not end within days"));
  EXPECT_THAT(ErrorOf(kSmall, {"rho=10", "d=16", "packets=1000000000"}),
              HasSubstr("packets would wait at the end (allowed: up to 2e8)"));
}

TEST(ReadExperiment, ChecksPatternsSchemesAndArrivals) {
  constexpr char kFly[] = "name: fly\nnetwork: butterfly\nd: 4\npattern: transpose\nload: 0.5\n";
  EXPECT_EQ(ErrorOf(kFly), "");
  EXPECT_THAT(ErrorOf(kFly, {"pattern=diagonal"}), HasSubstr("pattern: \"diagonal\" is unknown"));
  EXPECT_THAT(ErrorOf(kFly, {"rho=0.5"}), HasSubstr("rho: is for p-flips"));
  EXPECT_THAT(ErrorOf(kFly, {"p=0.25"}), HasSubstr("p: is for p-flips"));
  EXPECT_THAT(ErrorOf(kSmall, {"load=0.5"}), HasSubstr("load: needs a pattern"));
  EXPECT_THAT(ErrorOf(kFly, {"arrivals=bernoulli"}), HasSubstr("bernoulli needs slotted time"));
  EXPECT_THAT(ErrorOf(kFly, {"arrivals=bernoulli", "slot=1", "load=1.5"}),
              HasSubstr("load: 1.5 is 1.5 packets in a slot"));
  EXPECT_THAT(ErrorOf(kSmall, {"links=switch_output"}), HasSubstr("links: switch_output needs"));
  EXPECT_THAT(ErrorOf(kFly, {"scheme=valiant_brebner"}),
              HasSubstr("scheme: valiant_brebner is for"));
  EXPECT_THAT(ErrorOf(kSmall, {"coupled=true", "discipline=fifo"}), HasSubstr("coupled: compares"));
}

TEST(ReadExperiment, LaysSettingsOverTheFile) {
  const TemporaryFolder folder;
  const std::string path = Write(folder, kSmall);
  const auto laid = ReadExperiment(path, {"rho=0.5", "seeds=7,8", "p=[0.25, 1]"});
  ASSERT_TRUE(laid.ok()) << laid.status();
  const auto& packets = MessageOf<v1::Experiment>(**laid);
  EXPECT_THAT(packets.rho(), testing::ElementsAre(.5));
  EXPECT_THAT(packets.seeds(), testing::ElementsAre(7, 8));
  EXPECT_THAT(packets.p(), testing::ElementsAre(.25, 1));
  EXPECT_THAT(ErrorOf(kSmall, {"rho"}), HasSubstr("should be key=value"));
  EXPECT_THAT(ErrorOf(kSmall, {"roh=1"}), HasSubstr("did you mean rho?"));
  EXPECT_THAT(ErrorOf(kSmall, {"rho=fast"}), HasSubstr("\"fast\" is not a number"));
  EXPECT_THAT(ErrorOf(kSmall, {"rho=2000"}), HasSubstr("rho[0]: 2000 is out of range"));
  for (const char* broken : {"p=[0.25", "p=0.25]", "p={", "workers=["}) {
    EXPECT_THAT(ErrorOf(kSmall, {broken}), HasSubstr("is not YAML")) << broken;
  }
}

TEST(ReadExperiment, ARangeOfSeedsMayEndAtTheLargestNumber) {
  const TemporaryFolder folder;
  const auto read = ReadExperiment(Write(folder, kSmall),
                                   {"seeds=18446744073709551614..18446744073709551615", "rho=0.3"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(MessageOf<v1::Experiment>(**read).seeds(),
              testing::ElementsAre(UINT64_MAX - 1, UINT64_MAX));
}

TEST(ReadExperiment, ReadsBackWhatItWrites) {
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(Write(folder, kSmall), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto again = ReadExperiment(Write(folder, WriteExperiment(**experiment)), {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->message().SerializeAsString(), (*experiment)->message().SerializeAsString());
}

TEST(Measure, PassesTheExactCaseAndGivesTheSameBitsWhenInterruptedAndContinued) {
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(Write(folder, kSmall), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const std::string configuration = WriteExperiment(**experiment);

  auto whole = Journal::Open(folder / "whole", configuration);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto report = Measure(**experiment, *whole, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->complete);
  EXPECT_THAT(ResultsJson(**experiment, *report), HasSubstr("\"measured\": true"));
  EXPECT_EQ(report->Count(Verdict::kFail), 0) << ClaimTable(*report);
  EXPECT_GT(report->Count(Verdict::kPass), 20);

  auto cut = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(cut.ok());
  const auto part = Measure(**experiment, *cut, [](const Progress& p) { return p.done < 3; });
  ASSERT_TRUE(part.ok());
  EXPECT_FALSE(part->complete);
  EXPECT_THAT(ResultsJson(**experiment, *part), HasSubstr("\"measured\": false"));
  // The last line is cut short, as a full disk leaves it.
  std::ofstream(folder / "cut/trials.jsonl", std::ios::app) << "{\"point\": 0, \"se";
  auto continued = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(continued.ok()) << continued.status();
  EXPECT_NE(continued->Find(0, 3), nullptr);
  EXPECT_EQ(continued->Find(0, 4), nullptr);
  const auto rest = Measure(**experiment, *continued, [](const Progress&) { return true; });
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(ResultsJson(**experiment, *rest), ResultsJson(**experiment, *report));
}

TEST(Measure, GivesTheSameBitsHoweverManyTrialsRunAtOnce) {
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(Write(folder, kSmall), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const std::string configuration = WriteExperiment(**experiment);
  auto alone = Journal::Open(folder / "alone", configuration);
  ASSERT_TRUE(alone.ok()) << alone.status();
  const auto report = Measure(**experiment, *alone, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();

  auto cut = Journal::Open(folder / "beside", configuration);
  ASSERT_TRUE(cut.ok()) << cut.status();
  size_t done = 0;
  const auto part = Measure(
      **experiment, *cut, [&](const Progress& p) { return (done = p.done) < 3; }, 3);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_FALSE(part->complete);
  EXPECT_GE(done, 3u);
  auto continued = Journal::Open(folder / "beside", configuration);
  ASSERT_TRUE(continued.ok()) << continued.status();
  size_t first = SIZE_MAX, last = 0;
  const auto rest = Measure(
      **experiment, *continued,
      [&](const Progress& p) {
        first = std::min(first, p.done);
        last = p.done;
        return true;
      },
      3);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_GE(first, done);  // nothing ran twice
  EXPECT_EQ(last, (*experiment)->TrialsOf(*(*experiment)->Sweep()));
  EXPECT_EQ(ResultsJson(**experiment, *rest), ResultsJson(**experiment, *report));
}

TEST(Measure, RunsTrialsBesideEachOtherUnlessTheyNeedTheMachineForThemselves) {
  const TemporaryFolder folder;
  const auto exact = ReadExperiment(Write(folder, kSmall), {});
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(TrialsAtOnce(**exact, 5), 5);
  EXPECT_GE(TrialsAtOnce(**exact, 0), 1);
  EXPECT_LE(TrialsAtOnce(**exact, 0), kMaxTrialsAtOnce);
  auto* wall = static_cast<v1::Experiment*>((*exact)->mutable_message());
  wall->set_clock(v1::Experiment::WALL);
  EXPECT_EQ(TrialsAtOnce(**exact, 5), 1);
  EXPECT_EQ(TrialsAtOnce(**exact, 0), 1);
}

TEST(Measure, FindsTheDelaysOfCobhamInFrontOfOnePriorityLink) {
  const TemporaryFolder folder;
  const auto experiment =
      ReadExperiment(Write(folder, kSmall), {"discipline=priority", "class_shares=0.25,0.75"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  int cobham = 0;
  for (const ClaimResult& claim : report->claims) {
    EXPECT_NE(claim.verdict, Verdict::kFail) << ClaimTable(*report);
    cobham += claim.verdict == Verdict::kPass && claim.id.find("cobham") == 0;
  }
  EXPECT_EQ(cobham, 4);  // two claims at two loads
}

TEST(Journal, LeavesFoldersAloneThatHoldSomethingElse) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "busy");
  std::ofstream(folder / "busy/mine") << "x";
  EXPECT_THAT(std::string(Journal::Open(folder / "busy", "a").status().message()),
              HasSubstr("exists and is not empty"));
  ASSERT_TRUE(Journal::Open(folder / "one", "a").ok());
  EXPECT_THAT(std::string(Journal::Open(folder / "one", "b").status().message()),
              HasSubstr("holds another experiment"));
  ASSERT_TRUE(WriteFile(folder / "one/results.json", "{\"complete\": true}").ok());
  EXPECT_THAT(std::string(Journal::Open(folder / "one", "a").status().message()),
              HasSubstr("already holds this experiment"));
}

TEST(Journal, GoesOnWhereAKillLeftOnlyAnUnfinishedConfiguration) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "cut");
  std::ofstream(folder / "cut/experiment.yaml.part") << "na";
  EXPECT_TRUE(Journal::Open(folder / "cut", "name: a").ok());
  EXPECT_EQ(ReadFile(folder / "cut/experiment.yaml").value_or(""), "name: a");
}

TEST(WriteFile, SaysThatTheDiskIsFull) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "f.part");
  const absl::Status status = WriteFile(folder / "f", "text");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("No space left on device"));
  EXPECT_FALSE(std::filesystem::exists(folder / "f"));
}

}  // namespace
}  // namespace bfly::control
