// SPDX-License-Identifier: Apache-2.0
// When a claim passes or fails, and how often the deciding intervals hold the truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <fstream>
#include <memory>

#include "control/measure/core/claim_rows.h"
#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/packets/packet_claims.h"
#include "control/measure/packets/packet_tables.h"
#include "tests/temporary_folder.h"
#include "tests/unit/checked_claim.h"
#include "tests/unit/report_of.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

const Claim& Named(const std::string& id) { return *ClaimsNamed(PacketClaims(), {id}).value()[0]; }

Verdict VerdictOf(const std::string& id, const Measurement& m) {
  return Check(Named(id), m).verdict;
}

// Ten trials, whose delays lie evenly from `low` to `high`.
Measurement Measured(const PacketPoint& point, double low, double high) {
  Measurement m{.point = point, .trials = {}};
  for (int i = 0; i < 10; ++i) {
    Trial trial{.batch_delays = {}};
    trial.mean_delay = low + i * (high - low) / 9;
    trial.offered = trial.accepted = 1;
    m.trials.push_back(trial);
  }
  return m;
}

bool Never() { return false; }

TEST(Claims, BoundsFailOnTheWrongSideOnly) {
  // d = 2, p = 1/2, rho = 1/2: Proposition 12 says T <= 2, Proposition 13 says T >= 1.25.
  const PacketPoint point{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = .5};
  const Measurement good = Measured(point, 1.4, 1.44);
  const Measurement high = Measured(point, 2.4, 2.44);
  const Measurement low = Measured(point, 1.14, 1.144);
  EXPECT_EQ(VerdictOf("prop12_upper_bound", good), Verdict::kPass);
  EXPECT_EQ(VerdictOf("prop13_lower_bound", good), Verdict::kPass);
  EXPECT_EQ(VerdictOf("prop12_upper_bound", high), Verdict::kFail);
  EXPECT_EQ(VerdictOf("prop13_lower_bound", high), Verdict::kPass);
  EXPECT_EQ(VerdictOf("prop12_upper_bound", low), Verdict::kPass);
  EXPECT_EQ(VerdictOf("prop13_lower_bound", low), Verdict::kFail);
}

// A run of a few seeds must not wait for a figure that it does not need.
TEST(Claims, TheoryIsNotComputedWhereTooFewSeedsGiveNoVerdict) {
  const PacketPoint point{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = .5};
  int computed = 0;
  Claim claim = Named("prop13_lower_bound");
  claim.theory = [&](const Point&) { return ++computed, 1.25; };
  Measurement m = Measured(point, 1.4, 1.44);
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kPass);
  EXPECT_EQ(Check(claim, m).theory, 1.25);
  EXPECT_EQ(computed, 2);
  m.trials.resize(9);
  EXPECT_EQ(Check(claim, m).reason, "9 seeds are too few for a verdict, which takes 10");
  EXPECT_EQ(computed, 2);
}

TEST(Claims, EqualitiesFailOnBothSides) {
  const PacketPoint point{
      .network = NetworkKind::kHypercube, .d = 1, .p = .5, .rho = .5};  // T = .75
  EXPECT_EQ(VerdictOf("cube_exact_d1", Measured(point, .749, .751)), Verdict::kPass);
  EXPECT_EQ(VerdictOf("cube_exact_d1", Measured(point, .799, .801)), Verdict::kFail);
  EXPECT_EQ(VerdictOf("cube_exact_d1", Measured(point, .699, .701)), Verdict::kFail);
}

TEST(Claims, TheIntervalThatIsPrintedDecides) {
  const PacketPoint point{.network = NetworkKind::kHypercube, .d = 1, .p = .5, .rho = .5};
  // -1 to 1 in ten steps of 2/9 has the standard deviation sqrt(10 * 11 / 12) * 2/9 = 0.672811, and
  // t with 9 degrees of freedom exceeds 4.780913 with probability 0.0005.
  const double half = 4.780913 * 0.672811 / std::sqrt(10.0);
  for (const double off : {0.999, 1.001}) {
    const double centre = .75 + off * half / 100;
    const ClaimResult result =
        Check(Named("cube_exact_d1"), Measured(point, centre - .01, centre + .01));
    EXPECT_NEAR((result.high - result.low) / 2, half / 100, 1e-7);
    EXPECT_EQ(result.low <= .75, off < 1);
    EXPECT_EQ(result.verdict, off < 1 ? Verdict::kPass : Verdict::kFail);
  }
}

TEST(Claims, GetNoVerdictFromTooFewSeeds) {
  const PacketPoint point{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = .5};
  Measurement m = Measured(point, 9, 9.1);
  EXPECT_EQ(VerdictOf("prop12_upper_bound", m), Verdict::kFail);
  m.trials.pop_back();
  const ClaimResult result = Check(Named("prop12_upper_bound"), m);
  EXPECT_EQ(result.verdict, Verdict::kNotApplicable);
  EXPECT_EQ(result.reason, "9 seeds are too few for a verdict, which takes 10");
}

TEST(Claims, CountEveryDepartureThatBreaksALemma) {
  PacketPoint point{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = .5};
  point.discipline = dataplane::Discipline::kProcessorSharing;
  Measurement m = Measured(point, 1, 1);
  m.trials.resize(2);
  const Claim& claim = Named("lemma10_departures");
  EXPECT_THAT(Check(claim, m).reason, HasSubstr("coupled: true"));
  for (Trial& t : m.trials) {
    t.figures = {
        {"coupled_links", 9}, {"coupled_departures", 5}, {"coupled_departures_violations", 0}};
  }
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kPass);
  m.trials[1].figures["coupled_departures_violations"] = 1;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  EXPECT_EQ(Check(claim, m).measured, 1);
  m.trials[1].figures = {{"coupled_links", 9}, {"coupled_departures", 0}};
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);  // nothing was compared
}

TEST(Claims, ACoupledPathWithoutACrossingIsNoViolation) {
  PacketPoint point{.network = NetworkKind::kHypercube, .d = 2, .p = .01, .rho = .5};
  point.discipline = dataplane::Discipline::kProcessorSharing;
  Measurement m = Measured(point, 1, 1);
  for (Trial& t : m.trials) t.figures = {{"coupled_links", 3}, {"coupled_links_violations", 0}};
  m.trials[4].figures["coupled_links"] = 0;
  EXPECT_EQ(VerdictOf("lemma9_links", m), Verdict::kPass);
  m.trials[5].figures["coupled_links_violations"] = 2;
  EXPECT_EQ(Check(Named("lemma9_links"), m).measured, 2);
  for (Trial& t : m.trials) t.figures = {{"coupled_links", 0}, {"coupled_links_violations", 0}};
  const ClaimResult nothing = Check(Named("lemma9_links"), m);
  EXPECT_EQ(nothing.verdict, Verdict::kNotApplicable);
  EXPECT_THAT(nothing.reason, HasSubstr("crossed a link"));
  point.slot = 1;
  EXPECT_EQ(WhyNot(Named("lemma9_links"), point), "time is slotted");
}

TEST(Claims, AClassThatATrialDidNotMeasureGetsNoVerdict) {
  PacketPoint point{.network = NetworkKind::kHypercube, .d = 1, .p = 1, .rho = .8};
  point.discipline = dataplane::Discipline::kPriority;
  point.class_shares = {.9995, .0005};
  Measurement m = Measured(point, 3, 3.1);
  for (Trial& t : m.trials) t.figures["class_delay_1"] = 11;  // 1 + .4 / (.2004 * .2), about
  m.trials[0].figures.clear();
  const ClaimResult result = Check(Named("cobham_last_class"), m);
  EXPECT_EQ(result.verdict, Verdict::kNotApplicable);
  EXPECT_THAT(result.reason, HasSubstr("too rare"));
  Report report;
  report.series = {m};
  nlohmann::ordered_json results;
  AddPacketResults(report, results);
  EXPECT_TRUE(results["series"][0]["figures"].at("class_delay_1").is_null());
}

TEST(Claims, AreNotApplicableWithAReasonWhereTheyDoNotApply) {
  const PacketPoint cube{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = 1.1};
  const ClaimResult unstable = Check(Named("prop12_upper_bound"), Measured(cube, 1, 3));
  EXPECT_EQ(unstable.verdict, Verdict::kNotApplicable);
  EXPECT_THAT(unstable.reason, HasSubstr("rho >= 1"));
  EXPECT_THAT(Check(Named("prop17_upper_bound"), Measured(cube, 1, 3)).reason,
              HasSubstr("not a butterfly"));
}

TEST(Claims, EveryLinkIsCheckedAndNotTheMeanAlone) {
  // 4 links of the 2-cube, 10 seeds, 40000 packets expected of each link and seed: sqrt is 200. One
  // of 80 links off by 12 standard deviations is no chance, and the mean does not show it.
  const PacketPoint cube{.network = NetworkKind::kHypercube, .d = 2, .p = .5, .rho = .4};
  Measurement m = Measured(cube, 1, 1.01);
  for (size_t i = 0; i < m.trials.size(); ++i) {
    m.trials[i].cross_utilisation = i % 2 == 0 ? .3999 : .4001;
    m.trials[i].figures = {{"link_time", 100000}, {"cross_busiest", .404}, {"cross_idlest", .396}};
  }
  EXPECT_EQ(VerdictOf("prop5_utilisation", m), Verdict::kPass);
  EXPECT_EQ(VerdictOf("prop5_mean_utilisation", m), Verdict::kPass);
  m.trials[7].figures["cross_idlest"] = .376;
  EXPECT_EQ(VerdictOf("prop5_utilisation", m), Verdict::kFail);
  EXPECT_DOUBLE_EQ(Check(Named("prop5_utilisation"), m).measured, .376);
  EXPECT_EQ(VerdictOf("prop5_mean_utilisation", m), Verdict::kPass);
}

TEST(Claims, ALinkTooRarelyUsedForTheSeedsFailsNoClaim) {
  const PacketPoint rare{.network = NetworkKind::kButterfly, .d = 2, .p = 1e-8, .rho = .4};
  Measurement m = Measured(rare, 1, 1.01);
  EXPECT_EQ(VerdictOf("prop15_mean_cross", m), Verdict::kPass);
  m.point = PacketPoint{.network = NetworkKind::kButterfly, .d = 2, .p = .9, .rho = .9};
  EXPECT_EQ(VerdictOf("prop15_mean_cross", m), Verdict::kFail);
}

TEST(Statistics, RatesHaveTheIntervalsOfPoisson) {
  // None in a time t: P(none) = exp(-high t). One or more: P = 1 - exp(-low t).
  EXPECT_NEAR(RateInterval(0, 7, 1e-6).high, std::log(1e6) / 7, 1e-9);
  EXPECT_EQ(RateInterval(0, 7, 1e-6).low, 0);
  EXPECT_NEAR(RateInterval(1, 7, 0.01).low, -std::log1p(-0.01) / 7, 1e-9);
}

TEST(Coverage, IntervalsOfSeedsHoldTheExactDelay) {
  // M/D/1, T = p [1 + rho / (2 (1 - rho))]: 0.75 at rho = 0.5. Of 500 small experiments with an
  // interval of 95 % as many may miss it on one side as a coin of 2.5 % says, with one chance in
  // ten thousand of more.
  const std::unique_ptr<Experiment> experiment = Read(kLine, {});
  const Point point = experiment->Sweep().value()[0];
  constexpr int kExperiments = 500;
  int above = 0, below = 0;
  uint64_t seed = 1000;
  for (int i = 0; i < kExperiments; ++i) {
    Measurement m{.point = point, .trials = {}};
    for (int k = 0; k < kFewestSeeds; ++k) {
      m.trials.push_back(experiment->Run(point, ++seed, Never).value());
    }
    const Interval interval = BySeeds(DelayOf(m)).interval(0.025);
    above += interval.low > .75;
    below += interval.high < .75;
  }
  const boost::math::binomial_distribution<> coin(kExperiments, 0.025);
  const auto most = static_cast<int>(quantile(complement(coin, 1e-4)));
  EXPECT_LE(above, most);
  EXPECT_LE(below, most);
  EXPECT_GE(above + below, kExperiments / 100) << "intervals are wider than they say";
}

TEST(Coverage, ARunOfTrueClaimsFailsNoMoreOftenThanStated) {
  // With a family error of 10 % no more than one in ten runs may have a FAIL. Three points of some
  // ten true claims each.
  const std::unique_ptr<Experiment> experiment = Read(kLine, {"rho=0.3,0.6,0.8", "packets=500"});
  const std::vector<Point> points = experiment->Sweep().value();
  constexpr int kRuns = 150;
  int failed = 0;
  uint64_t seed = 500000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<ClaimResult> results;
    for (const Point& point : points) {
      Measurement m{.point = point, .trials = {}};
      for (int k = 0; k < kFewestSeeds; ++k) {
        m.trials.push_back(experiment->Run(point, ++seed, Never).value());
      }
      for (const Claim& claim : PacketClaims()) results.push_back(Examine(claim, m));
    }
    const Family family = Decide(results, 0.1);
    EXPECT_GE(family.tests, 24);
    failed += CountVerdicts(results, Verdict::kFail) > 0;
  }
  const boost::math::binomial_distribution<> coin(kRuns, 0.1);
  EXPECT_LE(failed, quantile(complement(coin, 1e-4)));
}

TEST(Power, AClaimFarOffFailsWithTheSeedsThatAreShipped) {
  const std::string fly = std::string(std::getenv("BFLY_SOURCE_ROOT")) +
                          "/topologies/experiments/fly-latency-load.yaml";
  const auto experiment = ReadExperiment(fly, {"pattern=uniform", "load=0.5", "packets=2000"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Point point = (*experiment)->Sweep().value()[0];
  Measurement m{.point = point, .trials = {}};
  for (const uint64_t seed : (*experiment)->SeedsAt(point)) {
    m.trials.push_back((*experiment)->Run(point, seed, Never).value());
  }
  const Claim& right = Named("kruskal_snir_first_stage");
  Claim wrong = right;
  const double off = 23 * Examine(right, m).ci95;
  wrong.theory = [&](const PacketPoint& x) { return right.theory(x) + off; };
  // The claim is judged among as many tests as the whole experiment has.
  std::vector<ClaimResult> run(250, Examine(right, m));
  run.push_back(Examine(wrong, m));
  Decide(run);
  EXPECT_EQ(run.front().verdict, Verdict::kPass);
  EXPECT_EQ(run.back().verdict, Verdict::kFail);
}

TEST(Stability, OverloadIsMarkedAndJudgedFromOneOn) {
  for (const char* network : {"network=hypercube", "network=butterfly"}) {
    for (const char* rho : {"rho=1", "rho=1.02", "rho=1.5"}) {
      const Report report = ReportOf(kLine, {network, "d=4", rho, "packets=20000"});
      EXPECT_EQ(report.Count(Verdict::kFail), 0) << ClaimTable(report);
      EXPECT_EQ(ResultOf(report, "instability").verdict, Verdict::kPass) << network << " " << rho;
      EXPECT_TRUE(report.series[0].saturated);
      EXPECT_THAT(ClaimTable(report), HasSubstr(" saturated "));
      EXPECT_THAT(ResultOf(report, "little").reason, HasSubstr("no stationary state"));
    }
  }
  const Report below = ReportOf(kLine, {"d=4", "rho=0.97", "packets=20000"});
  EXPECT_FALSE(below.series[0].saturated);
  EXPECT_EQ(ResultOf(below, "stability").verdict, Verdict::kPass);
  EXPECT_EQ(ResultOf(below, "instability").reason, "rho < 1");
}

TEST(Stability, TheFirstOfTwoCopiesCarriesAllThatARowSends) {
  const std::string text = "name: x\nd: 3\npattern: uniform\nload: 1.5\nseeds: 1..12\n";
  for (const char* network : {"network: two_fold_butterfly\n", "network: benes\n"}) {
    const Report report = ReportOf(text + network, {"packets=10000"});
    EXPECT_EQ(ResultOf(report, "pattern_carried").verdict, Verdict::kNotApplicable) << network;
    EXPECT_EQ(ResultOf(report, "pattern_saturates").verdict, Verdict::kPass) << network;
  }
}

TEST(Stability, FirstFreeOverloadsTheFirstLinkOfADirection) {
  // 0.9 packets a unit for each link, if the two links of a direction got equal parts.
  const Report report = ReportOf(
      "name: x\nnetwork: dilated_butterfly\nmultiplicity: 2\nport_rule: first_free\nd: 4\n"
      "pattern: uniform\nload: 3.6\nseeds: 1..12\npackets: 20000\n");
  EXPECT_THAT(ResultOf(report, "pattern_carried").reason, HasSubstr("how nodes pick"));
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << ClaimTable(report);
  EXPECT_TRUE(report.series[0].saturated);
}

TEST(Stability, GrowthDecidesNothingWhileTheBusiestLinkStillFills) {
  PacketPoint point{.network = NetworkKind::kHypercube, .d = 4, .p = 1, .rho = .999};
  Measurement m = Measured(point, 400, 410);  // after an endless warm-up, 4 + 499.5
  for (size_t i = 0; i < m.trials.size(); ++i) {
    m.trials[i].accepted = .9996 + (i % 2 == 0 ? 1e-5 : -1e-5);
    m.trials[i].figures["worst_link"] = 2;
  }
  EXPECT_FALSE(IsSaturated(m));
  for (const char* id : {"stability", "prop13_lower_bound", "little"}) {
    EXPECT_EQ(VerdictOf(id, m), Verdict::kNotApplicable) << id;
    EXPECT_THAT(Check(Named(id), m).reason, HasSubstr("still fills")) << id;
  }
  // 8 (4 / .001 + 1 / .001^2) units are enough.
  for (const double warmup : {8.0319e6, 8.0321e6}) {
    point.warmup = warmup;
    m.point = point;
    EXPECT_EQ(IsSaturated(m), warmup > 8.032e6);
    EXPECT_EQ(VerdictOf("stability", m),
              warmup > 8.032e6 ? Verdict::kFail : Verdict::kNotApplicable);
  }
  for (const double load : {.4975, .45}) {
    m.point = PacketPoint{.d = 4, .pattern = "bitrev", .load = load};
    EXPECT_EQ(IsSaturated(m), load == .45);
    EXPECT_EQ(VerdictOf("pattern_carried", m),
              load == .45 ? Verdict::kFail : Verdict::kNotApplicable);
  }
}

TEST(Stability, WhatGrowsIsSaturatedWhereNoTheoryTells) {
  const PacketPoint point{.network = NetworkKind::kTwoFoldButterfly, .d = 4, .p = .5, .rho = .45};
  Measurement m = Measured(point, 10, 11);
  for (size_t i = 0; i < m.trials.size(); ++i) {
    m.trials[i].accepted = 1 + (i % 2 == 0 ? .001 : -.001);
  }
  EXPECT_FALSE(IsSaturated(m)) << "now more, now less";
  for (Trial& trial : m.trials) trial.accepted -= .01;
  EXPECT_TRUE(IsSaturated(m)) << "one in a hundred stays inside, of every seed";
  // Rows send one packet a unit, and all of them go straight through the first copy.
  PacketPoint full = point;
  full.rho = .5;
  EXPECT_TRUE(IsSaturated(Measured(full, 10, 11)));
}

}  // namespace
}  // namespace bfly::control
