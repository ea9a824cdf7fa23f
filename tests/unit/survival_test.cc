// SPDX-License-Identifier: Apache-2.0
// Experiments about faults: their points, trials against counts by hand, and the shipped file cut
// short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/survival/survival_claims.h"
#include "control/measure/survival/survival_point.h"
#include "tests/temporary_folder.h"
#include "tests/unit/checked_claim.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::StartsWith;

v1::SurvivalExperiment SmallSurvival(v1::SurvivalExperiment::What faults, v1::NetworkKind network) {
  v1::SurvivalExperiment experiment;
  experiment.set_name("small");
  experiment.add_faults(faults);
  experiment.add_network(network);
  experiment.add_d(3);
  if (faults == v1::SurvivalExperiment::LINKS || faults == v1::SurvivalExperiment::NODES) {
    experiment.add_rate(0.25);
  }
  if (faults == v1::SurvivalExperiment::ADVERSARY) experiment.add_count(3);
  experiment.set_multiplicity(2);
  return experiment;
}

double SurvivalOf(const v1::SurvivalExperiment& experiment, const std::string& figure) {
  const auto points = SurvivalPointsOf(experiment);
  EXPECT_TRUE(points.ok()) << points.status();
  const auto trial = RunSurvivalTrial((*points)[0], experiment.list(), 1);
  EXPECT_TRUE(trial.ok()) << trial.status();
  return trial->figure(figure);
}

std::string RefusedPoints(const v1::SurvivalExperiment& experiment) {
  return std::string(SurvivalPointsOf(experiment).status().message());
}

TEST(Survival, PointsAreSweptOverWhatTheyHave) {
  v1::SurvivalExperiment experiment = SmallSurvival(v1::SurvivalExperiment::LINKS, v1::BUTTERFLY);
  experiment.add_faults(v1::SurvivalExperiment::ADVERSARY);
  experiment.add_count(3);
  experiment.add_network(v1::DILATED_BUTTERFLY);
  experiment.add_rate(0.5);
  std::vector<std::string> names;
  const auto points = SurvivalPointsOf(experiment);
  ASSERT_TRUE(points.ok()) << points.status();
  for (const SurvivalPoint& point : *points) names.push_back(point.ToString());
  EXPECT_THAT(names, ElementsAre("links butterfly rate=0.25 d=3", "links butterfly rate=0.5 d=3",
                                 "links dilated_butterfly multiplicity=2 rate=0.25 d=3",
                                 "links dilated_butterfly multiplicity=2 rate=0.5 d=3",
                                 "adversary butterfly count=3 d=3",
                                 "adversary dilated_butterfly multiplicity=2 count=3 d=3"));
}

TEST(Survival, TrialsCountThePairsThatAreLeft) {
  // The adversary's three switches are on 8 pairs each.
  EXPECT_EQ(SurvivalOf(SmallSurvival(v1::SurvivalExperiment::ADVERSARY, v1::BUTTERFLY), "survival"),
            1 - 24. / 64);
  // On BB_n the third alone stops nobody.
  EXPECT_EQ(SurvivalOf(SmallSurvival(v1::SurvivalExperiment::ADVERSARY, v1::TWO_FOLD_BUTTERFLY),
                       "survival"),
            1 - 16. / 64);
  v1::SurvivalExperiment listed = SmallSurvival(v1::SurvivalExperiment::LISTED, v1::BUTTERFLY);
  v1::FaultyLinks& link = *listed.mutable_list()->add_links();
  link.set_stages("1");
  link.set_rows("6");
  link.set_port(1);
  EXPECT_EQ(SurvivalOf(listed, "survival"), 1 - 4. / 64);
  EXPECT_EQ(SurvivalOf(listed, "down"), 1);
  v1::SurvivalExperiment all = SmallSurvival(v1::SurvivalExperiment::NODES, v1::BUTTERFLY);
  all.set_rate(0, 1);
  EXPECT_EQ(SurvivalOf(all, "survival"), 0);
  EXPECT_EQ(SurvivalOf(all, "cut_off_outputs"), 8);
}

TEST(Survival, WhatTheNetworkDoesNotHaveIsRefused) {
  v1::SurvivalExperiment experiment =
      SmallSurvival(v1::SurvivalExperiment::ADVERSARY, v1::BUTTERFLY);
  experiment.set_count(0, 9);
  EXPECT_THAT(RefusedPoints(experiment), HasSubstr("count: 9 switches are more"));
  experiment = SmallSurvival(v1::SurvivalExperiment::LISTED, v1::BUTTERFLY);
  EXPECT_THAT(RefusedPoints(experiment), HasSubstr("list: is missing"));
  experiment.mutable_list()->add_nodes()->set_levels("4");
  EXPECT_THAT(RefusedPoints(experiment),
              HasSubstr("list.nodes[0].levels: level 4 is outside 0..3"));
}

TEST(Survival, AKeyThatNothingInTheFileHasIsRefused) {
  v1::SurvivalExperiment experiment = SmallSurvival(v1::SurvivalExperiment::LINKS, v1::BUTTERFLY);
  EXPECT_EQ(RefusedPoints(experiment), "") << "multiplicity: 2 is the default";
  experiment.set_multiplicity(4);
  EXPECT_THAT(RefusedPoints(experiment), StartsWith("multiplicity: "));
  experiment.add_network(v1::DILATED_BUTTERFLY);
  EXPECT_EQ(RefusedPoints(experiment), "");
  experiment.add_count(3);
  EXPECT_THAT(RefusedPoints(experiment), StartsWith("count: "));
  experiment = SmallSurvival(v1::SurvivalExperiment::ADVERSARY, v1::BUTTERFLY);
  experiment.add_rate(0.25);
  EXPECT_THAT(RefusedPoints(experiment), StartsWith("rate: "));
}

TEST(Survival, RatesThatDifferHaveNamesThatDiffer) {
  SurvivalPoint point{.faults = "links", .d = 3, .rate = 0.1234567};
  EXPECT_EQ(point.ToString(), "links butterfly rate=0.1234567 d=3");
  point.rate = 0.1234568;
  EXPECT_EQ(point.ToString(), "links butterfly rate=0.1234568 d=3");
  EXPECT_EQ(point.ToCsv(), "links,butterfly,3,1,0.1234568,0");
  EXPECT_EQ(RateText(0), "0");
  EXPECT_EQ(RateText(0.0001), "0.0001");
  EXPECT_EQ(RateText(1), "1");
}

TEST(Survival, ClaimsFailWhereFewerPairsSurvive) {
  const Claim& claim = *(*ClaimsNamed(SurvivalClaims(), {"adversary_cuts_off"}))[0];
  Measurement m{.point = SurvivalPoint{.faults = "adversary", .d = 3, .count = 2}, .trials = {}};
  m.trials.push_back({.batch_delays = {}, .figures = {{"survival", 0.75}}});
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kPass);
  m.trials[0].figures["survival"] = 0.734375;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  m.point = SurvivalPoint{.faults = "adversary", .d = 3, .count = 2, .lists = true};
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
}

// Returns the result of adversary_cuts_off over the wirings of 20 seeds.
ClaimResult WhatTheAdversaryLeaves(v1::NetworkKind network, uint32_t multiplicity, uint32_t d,
                                   uint32_t count) {
  v1::SurvivalExperiment experiment = SmallSurvival(v1::SurvivalExperiment::ADVERSARY, network);
  experiment.set_multiplicity(multiplicity);
  experiment.set_d(0, d);
  experiment.set_count(0, count);
  const auto points = SurvivalPointsOf(experiment);
  EXPECT_TRUE(points.ok()) << points.status();
  Measurement m{.point = (*points)[0], .trials = {}};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto trial = RunSurvivalTrial((*points)[0], experiment.list(), seed);
    EXPECT_TRUE(trial.ok()) << trial.status();
    m.trials.push_back(*trial);
  }
  return Check(*(*ClaimsNamed(SurvivalClaims(), {"adversary_cuts_off"}))[0], m);
}

TEST(Survival, TheAdversaryIsJudgedWhereNoWiringHelpsIt) {
  // With one link a direction a pair has one path, and each switch is on n pairs.
  const ClaimResult single = WhatTheAdversaryLeaves(v1::MULTIBUTTERFLY, 1, 3, 1);
  EXPECT_EQ(single.verdict, Verdict::kPass) << single.reason;
  EXPECT_EQ(single.measured, 7. / 8);
  // On some wirings of two links an input has both of them to the same switch.
  EXPECT_EQ(WhatTheAdversaryLeaves(v1::MULTIBUTTERFLY, 2, 2, 1).verdict, Verdict::kNotApplicable);
  const ClaimResult even = WhatTheAdversaryLeaves(v1::MULTIBUTTERFLY, 2, 2, 2);
  EXPECT_EQ(even.verdict, Verdict::kPass) << even.reason;
  EXPECT_EQ(even.measured, 1. / 2);
  // A switch of the wrapped butterfly of two rows is an input and an output.
  EXPECT_EQ(WhatTheAdversaryLeaves(v1::WRAPPED_BUTTERFLY, 2, 1, 1).verdict,
            Verdict::kNotApplicable);
  const ClaimResult wrapped = WhatTheAdversaryLeaves(v1::WRAPPED_BUTTERFLY, 2, 2, 1);
  EXPECT_EQ(wrapped.verdict, Verdict::kPass) << wrapped.reason;
  EXPECT_EQ(wrapped.measured, 3. / 4);
}

Verdict SurvivalVerdict(const std::string& id, const SurvivalPoint& point,
                        const std::string& figure, double value, int seeds) {
  const Claim& claim = *(*ClaimsNamed(SurvivalClaims(), {id}))[0];
  Measurement m{.point = point, .trials = {}};
  for (int i = 0; i < seeds; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{figure, value}}});
  }
  return Check(claim, m).verdict;
}

TEST(Survival, FaultsTooRareForTheSeedsFailNoClaim) {
  // 200 seeds that lose nothing happen with 1 in 1000 if a seed survives with 0.001^(1/200) =
  // 0.966: the claim of 0.9984 stands, that of 0.95^4 does not.
  SurvivalPoint links{.faults = "links",
                      .network = NetworkKind::kDilatedButterfly,
                      .d = 4,
                      .multiplicity = 2,
                      .rate = 0.02};
  EXPECT_EQ(SurvivalVerdict("link_survival", links, "survival", 1, 200), Verdict::kPass);
  EXPECT_EQ(SurvivalVerdict("link_survival", links, "survival", 1, 10), Verdict::kPass);
  EXPECT_EQ(SurvivalVerdict("link_survival", links, "survival", 0, 200), Verdict::kFail);
  links.multiplicity = 1;
  links.rate = 0.05;
  EXPECT_EQ(SurvivalVerdict("link_survival", links, "survival", 1, 200), Verdict::kFail);
  const SurvivalPoint nodes{
      .faults = "nodes", .network = NetworkKind::kButterfly, .d = 6, .rate = 1e-5};
  EXPECT_EQ(SurvivalVerdict("survival_ceiling", nodes, "survival", 1, 200), Verdict::kPass);
  EXPECT_EQ(SurvivalVerdict("node_survival", nodes, "survival", 1, 200), Verdict::kPass);
  EXPECT_EQ(SurvivalVerdict("node_survival", nodes, "survival", 0.9, 200), Verdict::kFail)
      << "all seeds lost the same, so nothing is random";
}

// The verdict of link_survival on a butterfly of 8 rows where one link is down in `down` of 200
// seeds, and none in the others. Every link is on 1/16 of the pairs.
Verdict VerdictOfLinksDown(int down, double rate) {
  Measurement m{.point = SurvivalPoint{.faults = "links", .d = 3, .rate = rate}, .trials = {}};
  for (int i = 0; i < 200; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"survival", i < down ? 15. / 16 : 1}}});
  }
  return Check(*(*ClaimsNamed(SurvivalClaims(), {"link_survival"}))[0], m).verdict;
}

TEST(Survival, TrueClaimsAboutRareFaultsFailNoOftenerThanStated) {
  // The networks of 200 seeds have 9600 links, of which 9.6 are down in the mean: a Poisson number.
  double probability = std::exp(-9.6), of_failure = 0;
  for (int down = 0; down <= 100; ++down) {
    if (VerdictOfLinksDown(down, 0.001) == Verdict::kFail) of_failure += probability;
    probability *= 9.6 / (down + 1);
  }
  EXPECT_LE(of_failure, 1e-3);
  // Where 60 are expected, so few would be a wonder: P(at most 3) is 3e-22. So would be 60 where
  // 9.6 are expected.
  for (const int down : {1, 2, 3}) EXPECT_EQ(VerdictOfLinksDown(down, 0.00625), Verdict::kFail);
  EXPECT_EQ(VerdictOfLinksDown(60, 0.001), Verdict::kFail);
}

// Of 200 seeds three lose 1/16 each, so the mean is that of a Poisson number over 3200.
TEST(Survival, TheIntervalOfRareFaultsIsThatOfTheirNumber) {
  std::vector<double> losses(200);
  losses[0] = losses[7] = losses[8] = 1. / 16;
  const Interval interval = MeanOfRareInterval(losses, 0.0005);
  const double most = interval.high * 3200, least = interval.low * 3200;
  EXPECT_NEAR(std::exp(-most) * (1 + most + most * most / 2 + std::pow(most, 3) / 6), 0.0005, 1e-9);
  EXPECT_NEAR(1 - std::exp(-least) * (1 + least + least * least / 2), 0.0005, 1e-9);
}

TEST(Survival, WithoutFaultsTheClaimsAreExact) {
  const TemporaryFolder folder;
  const std::string file = folder / "whole.yaml";
  std::ofstream(file) << "name: whole\nfaults: links\nnetwork: [butterfly, two_fold_butterfly]\n"
                         "d: 4\nrate: 0\nseeds: 1..200\n"
                         "claims: [link_survival, two_path_survival]\n";
  const auto experiment = ReadExperiment(file, {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->Count(Verdict::kPass), 2) << (*experiment)->Summary(*report);
  EXPECT_EQ(report->family.tests, 0);
  EXPECT_THAT(NamedButNotJudged(report->claims, (*experiment)->named_claims()), IsEmpty());
  // One pair that is cut off breaks a claim that is exact.
  Measurement m{.point = SurvivalPoint{.faults = "links", .d = 4}, .trials = {}};
  m.trials.push_back({.batch_delays = {}, .figures = {{"survival", 255. / 256}}});
  EXPECT_EQ(Check(*(*ClaimsNamed(SurvivalClaims(), {"link_survival"}))[0], m).verdict,
            Verdict::kFail);
}

TEST(Survival, NetworksThatTheSeedDrawsAreDrawnForEachSeed) {
  const TemporaryFolder folder;
  for (const auto& [network, seeds] : std::vector<std::pair<std::string, size_t>>{
           {"butterfly", 1}, {"randomly_wired_butterfly", 20}, {"multibutterfly", 20}}) {
    const std::string file = folder / (network + ".yaml");
    std::ofstream(file) << "name: cut\nfaults: adversary\nnetwork: " << network
                        << "\nd: 4\ncount: 2\nseeds: 1..20\n";
    const auto experiment = ReadExperiment(file, {});
    ASSERT_TRUE(experiment.ok()) << experiment.status();
    const auto points = (*experiment)->Sweep();
    ASSERT_TRUE(points.ok()) << points.status();
    EXPECT_EQ((*experiment)->SeedsAt((*points)[0]).size(), seeds) << network;
  }
}

TEST(Survival, TheShippedExperimentFindsTheExactProbabilities) {
  const std::string file =
      std::string(std::getenv("BFLY_SOURCE_ROOT")) + "/topologies/experiments/fault-survival.yaml";
  const TemporaryFolder folder;
  const auto experiment = ReadExperiment(file, {"d=4,6", "seeds=1..60"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->Count(Verdict::kFail), 0) << (*experiment)->Summary(*report);
  std::set<std::string> passed;
  for (const ClaimResult& claim : report->claims) {
    if (claim.verdict == Verdict::kPass) passed.insert(claim.id);
  }
  EXPECT_THAT(passed, IsSupersetOf({"node_survival", "link_survival", "two_path_survival",
                                    "survival_ceiling", "adversary_cuts_off"}));
}

}  // namespace
}  // namespace bfly::control
