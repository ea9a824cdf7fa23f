// SPDX-License-Identifier: Apache-2.0
// Which point of a statement the page of a reproduction shows, and how it counts the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/made_page.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// A result whose interval is `half` wide on each side of the measured value.
ClaimResult Within(double theory, double measured, double half) {
  ClaimResult result = Result("bound", Verdict::kPass, theory, measured);
  result.low = measured - half;
  result.high = measured + half;
  return result;
}

Page PageOf(const std::vector<ClaimResult>& results, std::vector<ExperimentOutcome>& outcomes) {
  outcomes = {Finished("a", "first", {{"bound", "T <= 2", "First et al., Theorem 1"}}, results)};
  return MakePage(TwoPapers(), {"first"}, outcomes, false, kProvenance);
}

TEST(Evidence, VacuousPointsDoNotHideOneThatPassed) {
  std::vector<ClaimResult> results(20, Result("bound", Verdict::kVacuous, HUGE_VAL, 1));
  results[7].theory = std::nan("");
  results[9].measured = HUGE_VAL;
  results.push_back(Within(2, 1.5, 0.1));
  std::vector<ExperimentOutcome> outcomes;
  const Page page = PageOf(results, outcomes);
  const Evidence& evidence = page.papers[0].statements[0].evidence[0];
  EXPECT_EQ(evidence.closest[0].verdict, Verdict::kPass);
  EXPECT_EQ(evidence.closest[1].verdict, Verdict::kVacuous);
  EXPECT_EQ(evidence.judged, 21u);
}

TEST(Evidence, ThePointWhoseIntervalComesClosestIsShownNotTheOneWithTheClosestMean) {
  std::vector<ExperimentOutcome> outcomes;
  // The first one would have to move by 11 half-widths to fail, the second one by 1.5.
  const Page page = PageOf({Within(2, 1.9, 0.01), Within(2, 1.5, 1)}, outcomes);
  EXPECT_EQ(page.papers[0].statements[0].evidence[0].closest[0].measured, 1.5);
}

TEST(Evidence, WithoutIntervalsTheClosestValueComesFirst) {
  std::vector<ExperimentOutcome> outcomes;
  const Page page = PageOf({Within(2, 1.5, 0), Within(2, 1.9, 0), Within(2, 1, 0)}, outcomes);
  EXPECT_EQ(page.papers[0].statements[0].evidence[0].closest[0].measured, 1.9);
}

TEST(Evidence, ALowerBoundIsContradictedByTheUpperEnd) {
  ClaimResult narrow = Within(2, 2.1, 0.01), wide = Within(2, 3, 1);
  narrow.relation = wide.relation = Relation::kAtLeast;
  EXPECT_TRUE(IsCloser(wide, narrow));
  EXPECT_FALSE(IsCloser(narrow, wide));
  // An equality: 0.2 from the nearer end of 0.5 on each side, against 0.9 of 1.
  ClaimResult off = Within(2, 2.3, 0.5), exact = Within(2, 2.1, 1);
  off.relation = exact.relation = Relation::kEqual;
  EXPECT_TRUE(IsCloser(off, exact));
}

TEST(Evidence, ThePageCountsThePointsThatAreNotApplicableAndSaysWhy) {
  std::vector<ClaimResult> results(3, Result("bound", Verdict::kVacuous, 2, 1));
  results.push_back(Within(2, 1.5, 0.1));
  for (const char* reason : {"3 seeds are too few", "another reason"}) {
    results.push_back(Result("bound", Verdict::kNotApplicable, 0, 0));
    results.back().reason = reason;
  }
  std::vector<ExperimentOutcome> outcomes;
  const Page page = PageOf(results, outcomes);
  EXPECT_EQ(page.papers[0].statements[0].verdict(), Verdict::kPass);
  EXPECT_THAT(Html(page), HasSubstr("1 PASS, 3 VACUOUS, 2 NOT APPLICABLE: 3 seeds are too few"));
}

}  // namespace
}  // namespace bfly::control
