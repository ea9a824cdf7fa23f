// SPDX-License-Identifier: Apache-2.0
// Where a claim about packets applies, and what a run says of claims that apply nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "control/measure/core/claim_rows.h"
#include "control/measure/packets/packet_tables.h"
#include "tests/unit/report_of.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

TEST(Applicability, RhoIsALoadFactorWhereThePaperSaysSo) {
  // Two passes through a butterfly with p = 1/2 over random switches: some link carries twice
  // lambda p.
  const Report report = ReportOf(kLine, {"network=two_fold_butterfly", "d=4", "rho=0.7", "p=0.25"});
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << ClaimTable(report);
  for (const char* id : {"stability", "instability", "prop15_cross", "prop5_utilisation"}) {
    EXPECT_EQ(ResultOf(report, id).verdict, Verdict::kNotApplicable) << id;
  }
  EXPECT_THAT(ResultOf(report, "stability").reason, HasSubstr("hypercubes and butterflies alone"));
}

TEST(Applicability, LittlesLawHoldsForAnyNetworkArrivalsAndDiscipline) {
  const std::vector<std::vector<std::string>> experiments = {
      {"network=butterfly", "rho=0.3", "arrivals=bernoulli", "slot=1", "links=switch_output"},
      {"network=butterfly", "discipline=priority", "class_shares=0.5,0.5"},
      {"network=butterfly", "discipline=processor_sharing"},
      {"discipline=processor_sharing", "slot=1"},
      {"network=two_fold_butterfly", "rho=0.2"},
      {"network=benes", "rho=0.2"},
      {"scheme=valiant_brebner", "rho=0.05"},
  };
  for (std::vector<std::string> settings : experiments) {
    settings.insert(settings.end(), {"d=3", "claims=little", "packets=3000"});
    const Report report = ReportOf(kLine, settings);
    EXPECT_EQ(ResultOf(report, "little").verdict, Verdict::kInvariant)
        << settings[0] << " " << settings[1] << "\n"
        << ClaimTable(report);
    EXPECT_NEAR(ResultOf(report, "little").measured, 1, .02);
  }
  const Report pattern = ReportOf(
      "name: fly\nnetwork: butterfly\nd: 4\npattern: uniform\nload: 0.5\nseeds: 1..10\n"
      "packets: 3000\n");
  EXPECT_EQ(ResultOf(pattern, "little").verdict, Verdict::kInvariant);
}

TEST(Applicability, ANamedClaimThatIsNeverJudgedIsTold) {
  const std::vector<std::string> named = {"little", "stability"};
  const Report one_seed = ReportOf(kLine, {"seeds=1", "claims=little,stability"});
  EXPECT_THAT(NamedButNotJudged(one_seed.claims, named),
              testing::ElementsAre("little: 1 seed is too few for a verdict, which takes 10",
                                   "stability: 1 seed is too few for a verdict, which takes 10"));
  const Report also_saturated =
      ReportOf(kLine, {"rho=1.1,0.5", "seeds=1..3", "claims=prop12_upper_bound"});
  EXPECT_THAT(NamedButNotJudged(also_saturated.claims, {"prop12_upper_bound"}),
              testing::ElementsAre(
                  "prop12_upper_bound: 3 seeds are too few for a verdict, which takes 10"));
  const Report ten = ReportOf(kLine, {"claims=little,stability"});
  EXPECT_THAT(NamedButNotJudged(ten.claims, named), testing::IsEmpty());
}

TEST(Applicability, AClaimThatAppliesNowhereIsListedOnceForEachReason) {
  const Report report = ReportOf(kLine, {"rho=1.1,0.5,0.6", "seeds=1..3"});
  EXPECT_THAT(ClaimTable(report),
              testing::AllOf(HasSubstr("prop12_upper_bound        NOT APPLICABLE at 2 points: 3"),
                             HasSubstr("prop12_upper_bound        NOT APPLICABLE at 1 point: rho"),
                             HasSubstr("prop14_lower_bound        NOT APPLICABLE at 3 points: ")));
  const ClaimResult first = ResultOf(report, "prop12_upper_bound");
  EXPECT_THAT(first.reason, HasSubstr("3 seeds are too few"));
  EXPECT_EQ(first.trials, 3);
  EXPECT_EQ(ClaimsJson({first})[0]["points"], 2);
  EXPECT_EQ(ResultOf(report, "prop14_lower_bound").trials, 0);
  // Every claim has a verdict at each of the three points.
  std::set<std::string> claims;
  for (const ClaimResult& claim : report.claims) claims.insert(claim.id);
  int verdicts = 0;
  for (const Verdict verdict : kVerdicts) verdicts += report.Count(verdict);
  EXPECT_EQ(verdicts, 3 * static_cast<int>(claims.size()));
}

TEST(Applicability, APointThatDecidesNothingComesBeforeThoseThatTheClaimIsNotAbout) {
  const Report report =
      ReportOf(kLine, {"scheme=valiant_brebner", "d=2,4", "rho=0.01", "claims=vb_boundary"});
  ASSERT_EQ(report.claims.size(), 2u);
  EXPECT_THAT(report.claims[0].reason, HasSubstr("the load is below"));
  EXPECT_EQ(report.claims[0].trials, 10);
  EXPECT_EQ(report.claims[1].reason, "d is below 4");
  EXPECT_EQ(report.claims[1].trials, 0);
  EXPECT_THAT(NamedButNotJudged(report.claims, {"vb_boundary"}),
              testing::ElementsAre(HasSubstr("the load is below")));
}

TEST(PacketCsv, LeavesTheIntervalOfOneSeedEmpty) {
  const std::string csv = PacketCsv(ReportOf(kLine, {"seeds=1"}), false);
  EXPECT_THAT(csv, testing::Not(HasSubstr("inf")));
  EXPECT_THAT(csv, testing::ContainsRegex(",[0-9.]+,,[0-9.]+,[0-9.]+,false,1\n"));
  EXPECT_THAT(PacketCsv(ReportOf(kLine), false), testing::Not(HasSubstr(",,")));
}

}  // namespace
}  // namespace bfly::control
