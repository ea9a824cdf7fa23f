// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "control/cli/ndr_report.h"
#include "control/cli/ndr_search.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

SizeReport::AtLoad LatenciesOf(uint64_t intended, uint64_t others, uint64_t soon, uint64_t late) {
  TrialOutcome outcome{.trial = {.load = 10, .duration = 1}, .intended = intended};
  outcome.others = others;
  outcome.latency.set_count(soon + late);
  for (const auto& [up_to, packets] : {std::pair(1e3, soon), std::pair(2e3, late)}) {
    v1::LatencyBucket bucket;
    bucket.set_up_to(up_to);
    bucket.set_packets(packets);
    outcome.histogram.push_back(bucket);
  }
  return {.part = 0.1, .outcome = outcome};
}

TEST(HistogramCsv, CountsLostFramesAmongAll) {
  SizeReport report;
  report.mix = *FrameMixFromName("64");
  report.latencies = {LatenciesOf(100, 0, 50, 46)};
  EXPECT_THAT(HistogramCsv({report}), AllOf(HasSubstr("64,0.1,10.0,1000.0,50,0.500000000\n"),
                                            EndsWith("64,0.1,10.0,2000.0,46,0.960000000\n")));
}

TEST(HistogramCsv, CountsFramesOfOthersAmongAll) {
  SizeReport report;
  report.mix = *FrameMixFromName("64");
  report.latencies = {LatenciesOf(100, 60, 120, 40)};
  EXPECT_THAT(HistogramCsv({report}),
              AllOf(HasSubstr(",120,0.750000000\n"), EndsWith(",40,1.000000000\n")));
}

TEST(SizeJson, SaysHowManyFramesOfOthersTheLatenciesHave) {
  SizeReport report;
  report.mix = *FrameMixFromName("64");
  report.latencies = {LatenciesOf(100, 60, 120, 40)};
  EXPECT_EQ(SizeJson(report)["latency"][0]["others"], 60);
}

TEST(PrintSize, TellsTheMeanLatency) {
  SizeReport report;
  report.mix = *FrameMixFromName("64");
  report.latencies = {LatenciesOf(100, 0, 50, 50)};
  report.latencies[0].outcome.latency.set_mean(1500);
  testing::internal::CaptureStdout();
  PrintSize(report, "uniform (--ways both)");
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("mean 1.5 us, p50 "));
}

TEST(CheckRegular, NamesTheOptionThatHelps) {
  const auto message = [](std::vector<GoalResult> results, double least, double most) {
    SizeReport report;
    report.min_load = least;
    report.max_load = most;
    report.results = std::move(results);
    return std::string(CheckRegular({report}).message());
  };
  const GoalResult regular{.upper = 60, .lower = 50}, all_pass{.upper = {}, .lower = 100},
      none_passes{.upper = 50, .lower = {}};
  EXPECT_EQ(message({regular, regular}, 50, 100), "");
  EXPECT_THAT(message({regular, all_pass}, 50, 100),
              AllOf(HasSubstr("--most"), Not(HasSubstr("--initial-duration"))));
  EXPECT_THAT(message({none_passes, regular}, 50, 100),
              AllOf(HasSubstr("--initial-duration"), Not(HasSubstr("--most"))));
  EXPECT_THAT(message({none_passes, all_pass}, 50, 100),
              AllOf(HasSubstr("--most"), HasSubstr("--initial-duration")));
  // --most 50: longer trials would not try less.
  EXPECT_THAT(message({none_passes}, 50, 50),
              AllOf(HasSubstr("--most"), Not(HasSubstr("--initial-duration"))));
}

}  // namespace
}  // namespace bfly::control
