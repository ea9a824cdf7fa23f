// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/cli/route_report_text.h"
#include "control/cli/route_text.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

v1::RoutePermutationResponse WithStage(std::vector<uint32_t> links) {
  v1::RoutePermutationResponse response;
  response.add_stage_load()->mutable_links()->Add(links.begin(), links.end());
  return response;
}

std::string BarOf(std::vector<uint32_t> links) {
  const auto lines = DrawStageLoad(WithStage(std::move(links)).stage_load(), 44);
  return lines.at(1).substr(lines.at(1).find_last_of(' ') + 1);
}

TEST(StageLoadPicture, SharesTheBarInProportion) {
  EXPECT_THAT(DrawStageLoad(WithStage({10, 20}).stage_load(), 44),
              ElementsAre("stage   most  links by their circuits",
                          "    0      1  000000000011111111111111111111"));
  EXPECT_EQ(BarOf({30}), std::string(30, '0'));
  EXPECT_EQ(BarOf({0, 0, 5}), std::string(30, '2'));
}

TEST(StageLoadPicture, ShowsTheRarestToo) {
  EXPECT_EQ(BarOf({1, 1'000'000, 0, 1}), "0" + std::string(28, '1') + "3");
  EXPECT_EQ(BarOf({1'000'000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}), std::string(29, '0') + "+");
  // More kinds than places: the bar is full, no more.
  EXPECT_EQ(BarOf(std::vector<uint32_t>(100, 1)).size(), 30u);
}

TEST(RouteReportText, TellsWhatTheStepsTookOnStageWorkers) {
  v1::RouteReport report;
  report.set_steps(60);
  EXPECT_THAT(RouteReportText(report), Not(HasSubstr("in band")));
  v1::RouteInBand& in_band = *report.mutable_in_band();
  in_band.set_seconds(0.000412);
  in_band.set_steps(57);
  in_band.set_steps_per_second(57 / 0.000412);
  in_band.set_barriers(171);
  in_band.set_barrier_seconds(0.00000041);
  in_band.set_workers(2);
  EXPECT_THAT(RouteReportText(report),
              HasSubstr("in band: 57 steps in 412.0 us on 2 workers, 138k steps a second; 171 "
                        "barriers, and one takes 0.41 us by itself\n"));
}

TEST(RouteReportText, TellsWhatBecameOfFrames) {
  v1::RouteReport report;
  report.mutable_in_band();
  EXPECT_THAT(RouteReportText(report), Not(HasSubstr("frames: ")));
  v1::RouteFrames& frames = *report.mutable_in_band()->mutable_frames();
  frames.set_made(64);
  frames.set_to_ports(48);
  frames.set_to_sinks(16);
  EXPECT_THAT(RouteReportText(report),
              HasSubstr("frames: 64; 48 given to host ports, 16 ended at rows without one\n"));
  frames.set_made(70);
  frames.set_without_buffer(1);
  EXPECT_THAT(RouteReportText(report),
              HasSubstr("16 ended at rows without one, 6 dropped inside; 1 packet went on without "
                        "a frame, because no buffer was free\n"));
}

}  // namespace
}  // namespace bfly::control
