// SPDX-License-Identifier: Apache-2.0
// Which verdicts of the wall clock stand although workers were late.
#include "control/measure/packets/lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/measure/packets/packet_point.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// Delays of 4 units of 100 us; the interval that decides the claim is 4 +- 0.2, so 10 us may be
// late. The 95 % interval is half as wide.
Measurement Late(double mean_us) {
  Measurement measurement{.point = PacketPoint{.d = 3, .rho = 0.5}, .trials = {}};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Trial trial{.seed = seed, .mean_delay = 4, .batch_delays = {}};
    if (mean_us > 0) trial.figures["late_mean_us"] = mean_us;
    measurement.trials.push_back(trial);
  }
  return measurement;
}

ClaimResult Judged(double late_us, const char* id, Relation relation, Verdict verdict) {
  const Measurement measurement = Late(late_us);
  std::vector<ClaimResult> claims = {{.id = id,
                                      .statement = "",
                                      .source = "",
                                      .point = measurement.point,
                                      .measured = 4,
                                      .ci95 = 0.1,
                                      .low = 3.8,
                                      .high = 4.2,
                                      .error = 1e-5,
                                      .verdict = verdict,
                                      .reason = "",
                                      .relation = relation}};
  WithholdLateVerdicts({measurement}, 100, claims);
  return claims[0];
}

TEST(Lateness, WithholdsWhatItMayHaveMade) {
  constexpr const char* kId = "a_delay";
  for (const auto& [relation, verdict] : {std::pair{Relation::kAtLeast, Verdict::kPass},
                                          {Relation::kEqual, Verdict::kPass},
                                          {Relation::kEqual, Verdict::kFail},
                                          {Relation::kAtMost, Verdict::kFail}}) {
    EXPECT_EQ(Judged(9.9, kId, relation, verdict).verdict, verdict);
    const ClaimResult withheld = Judged(10.1, kId, relation, verdict);
    EXPECT_EQ(withheld.verdict, Verdict::kNotApplicable);
    EXPECT_THAT(withheld.reason, HasSubstr("workers were late by 2.5 % of the delay"));
    EXPECT_THAT(withheld.reason, HasSubstr("half-width (5 %)"));
  }
}

TEST(Lateness, IsComparedWithTheIntervalThatDecides) {
  // 7 us are more than half of the 95 % interval's half-width, 5 us, and less than half of the
  // other.
  EXPECT_EQ(Judged(7, "a_delay", Relation::kAtLeast, Verdict::kPass).verdict, Verdict::kPass);
}

TEST(Lateness, LeavesWhatItOnlyMadeHarder) {
  EXPECT_EQ(Judged(50, "a_delay", Relation::kAtMost, Verdict::kPass).verdict, Verdict::kPass);
  EXPECT_EQ(Judged(50, "a_delay", Relation::kAtLeast, Verdict::kFail).verdict, Verdict::kFail);
}

TEST(Lateness, LeavesCountsAndTheVirtualClockAlone) {
  for (const char* id : {"prop15_cross", "stability", "pattern_carried", "little"}) {
    EXPECT_EQ(Judged(50, id, Relation::kEqual, Verdict::kPass).verdict, Verdict::kPass) << id;
  }
  EXPECT_EQ(Judged(0, "a_delay", Relation::kEqual, Verdict::kPass).verdict, Verdict::kPass);
}

}  // namespace
}  // namespace bfly::control
