// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/cli/picture.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ResultOf;

void AddLink(v1::Counters& counters, uint32_t stage, uint32_t row, uint32_t port, uint32_t circuits,
             uint64_t packets) {
  v1::LinkCounters& link = *counters.add_links();
  link.set_stage(stage);
  link.set_row(row);
  link.set_port(port);
  link.set_next_row(row ^ port);
  link.set_circuits(circuits);
  link.set_packets(packets);
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(CongestionField, RatesArePacketsSinceThePictureBeforeOverItsAge) {
  v1::Counters before, now;
  before.set_monotonic_ns(10 * kSecond);
  now.set_monotonic_ns(12 * kSecond);
  AddLink(before, 1, 3, 0, 1, 100);
  AddLink(now, 1, 3, 0, 1, 300);
  AddLink(now, 0, 2, 1, 0, 50);  // was not in the picture before: had carried nothing
  const CongestionField field = MakeField(4, 2, now, &before);
  EXPECT_EQ(field.at(1, 3, 0).rate, 100);
  EXPECT_EQ(field.at(0, 2, 1).rate, 25);
  EXPECT_EQ(field.at(0, 0, 0).rate, 0);
}

TEST(CongestionField, ThereAreNoRatesInTheFirstPicture) {
  v1::Counters now;
  now.set_monotonic_ns(12 * kSecond);
  AddLink(now, 0, 0, 0, 2, 300);
  const CongestionField field = MakeField(4, 2, now, nullptr);
  EXPECT_EQ(field.at(0, 0, 0).rate, 0);
  EXPECT_EQ(field.at(0, 0, 0).circuits, 2u);
}

TEST(CongestionField, LinksOutsideTheNetworkAreLeftOut) {
  v1::Counters now;
  AddLink(now, 2, 0, 0, 1, 1);
  AddLink(now, 0, 4, 0, 1, 1);
  AddLink(now, 0, 0, 2, 1, 1);
  const CongestionField field = MakeField(4, 2, now, nullptr);
  EXPECT_EQ(field.links.size(), 4u * 2 * 2);
  for (const LinkFigures& load : field.links) EXPECT_EQ(load.circuits, 0u);
}

TEST(DrawCongestion, ShowsCircuitsOfBothLinksOfEachNode) {
  v1::Counters now;
  AddLink(now, 0, 0, 1, 1, 0);
  AddLink(now, 1, 1, 0, 2, 0);
  AddLink(now, 1, 1, 1, 12, 0);  // more than one figure
  const std::vector<std::string> lines =
      DrawCongestion(MakeField(2, 2, now, nullptr), {.columns = 60, .lines = 10, .colour = false});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "row s0   s1   ");
  EXPECT_EQ(lines[1], "  0 \u00b7 1  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[2], "  1 \u00b7 \u00b7  2 +  ");
  EXPECT_THAT(lines[3], HasSubstr("port 0 and port 1"));
}

TEST(DrawCongestion, TheBusiestLinkHasTheFullestShade) {
  v1::Counters before, now;
  now.set_monotonic_ns(kSecond);
  AddLink(now, 0, 0, 0, 1, 1000);
  AddLink(now, 0, 0, 1, 1, 100);
  AddLink(now, 0, 1, 0, 1, 0);
  const std::vector<std::string> lines =
      DrawCongestion(MakeField(2, 1, now, &before), {.columns = 60, .lines = 10, .colour = false});
  EXPECT_EQ(lines[1], "  0 1\u25881\u2581 ");
  EXPECT_EQ(lines[2], "  1 1 \u00b7  ");
}

TEST(DrawCongestion, RowsAreGroupedUntilTheyFitAndAGroupShowsItsFullestLink) {
  v1::Counters now;
  AddLink(now, 0, 5, 0, 3, 0);
  AddLink(now, 0, 6, 0, 1, 0);
  const std::vector<std::string> lines =
      DrawCongestion(MakeField(64, 1, now, nullptr), {.columns = 80, .lines = 10, .colour = false});
  ASSERT_EQ(lines.size(), 10u);  // heading, 8 groups of 8 rows, legend
  EXPECT_EQ(lines[1], "  0-7 3 \u00b7  ");
  EXPECT_THAT(lines.back(), HasSubstr("fullest link of each group"));
}

TEST(DrawCongestion, NoLineIsWiderThanTheTerminal) {
  v1::Counters before, now;
  now.set_monotonic_ns(kSecond);
  for (uint32_t stage = 0; stage < 40; ++stage) AddLink(now, stage, stage, 1, stage, 100 * stage);
  const CongestionField field = MakeField(1024, 40, now, &before);
  for (bool colour : {false, true})
    for (uint32_t columns : {20, 40, 80, 120, 300})
      for (uint32_t lines : {3, 10, 24, 2000})
        EXPECT_THAT(DrawCongestion(field, {.columns = columns, .lines = lines, .colour = colour}),
                    AllOf(Each(ResultOf(Width, testing::Le(columns))),
                          testing::SizeIs(testing::Le(std::max(lines, 3u)))));
}

TEST(DrawCongestion, SaysWhichStagesDoNotFit) {
  const std::vector<std::string> lines = DrawCongestion(
      MakeField(16, 40, v1::Counters(), nullptr), {.columns = 100, .lines = 30, .colour = false});
  EXPECT_THAT(lines.back(), HasSubstr("stages 32-39 need a wider terminal"));
}

TEST(DrawCongestion, APartHasItsOwnRowsAndStagesAndNoOthers) {
  v1::Counters now;
  AddLink(now, 2, 9, 0, 3, 0);
  AddLink(now, 2, 8, 1, 1, 0);  // not asked for
  AddLink(now, 0, 9, 1, 7, 0);  // not asked for
  const std::vector<std::string> lines =
      DrawCongestion(MakeField(16, 4, now, nullptr, {.stages = {2, 3}, .rows = {4, 9, 12, 99}}),
                     {.columns = 60, .lines = 10, .colour = false});
  ASSERT_EQ(lines.size(), 5u);  // heading, rows 4, 9 and 12, legend
  EXPECT_EQ(lines[0], "row s2   s3   ");
  EXPECT_EQ(lines[1], "  4 \u00b7 \u00b7  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[2], "  9 3 \u00b7  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[3], " 12 \u00b7 \u00b7  \u00b7 \u00b7  ");
}

TEST(DrawCongestion, AnOddNumberOfRowsIsGroupedToTheEnd) {
  v1::Counters now;
  AddLink(now, 0, 14, 0, 4, 0);
  const std::vector<std::string> lines =
      DrawCongestion(MakeField(16, 1, now, nullptr, {.stages = {}, .rows = {0, 2, 4, 6, 14}}),
                     {.columns = 60, .lines = 5, .colour = false});
  ASSERT_EQ(lines.size(), 5u);  // heading, 2 + 2 + 1 rows, legend
  EXPECT_EQ(lines[1], "  0-2 \u00b7 \u00b7  ");
  EXPECT_EQ(lines[3], "14-14 4 \u00b7  ");
}

TEST(MissedLine, NamesThePortsThatMissedFrames) {
  v1::Counters counters;
  for (const auto& [name, missed] : {std::pair("a", 7u), std::pair("b", 0u), std::pair("c", 5u)}) {
    v1::PortCounters& port = *counters.add_ports();
    port.set_name(name);
    port.set_rx_missed(missed);
  }
  EXPECT_EQ(Missed(counters), 12u);
  EXPECT_EQ(MissedLine(counters), "ports missed 12 frames before the fabric saw them: a 7, c 5");
}

TEST(TopLinks, AreOrderedByCircuitsThenRateThenPackets) {
  v1::Counters before, now;
  now.set_monotonic_ns(kSecond);
  AddLink(before, 0, 0, 0, 1, 500);
  AddLink(now, 0, 0, 0, 1, 500);   // one circuit, silent now
  AddLink(now, 1, 0, 0, 1, 200);   // one circuit, 200 a second
  AddLink(now, 1, 1, 1, 2, 10);    // two circuits
  AddLink(now, 1, 2, 0, 0, 9000);  // no circuit
  EXPECT_THAT(TopLinks(now, &before, 3),
              ElementsAre("s1 r1 p1 -> r0: 2 circuits, 10 packets/s, 10 packets",
                          "s1 r0 p0 -> r0: 1 circuit, 200 packets/s, 200 packets",
                          "s0 r0 p0 -> r0: 1 circuit, 0 packets/s, 500 packets"));
}

TEST(Width, CountsColumnsAndNeitherEscapesNorBytes) {
  EXPECT_EQ(Width("abc"), 3u);
  EXPECT_EQ(Width("\x1b[97;48;5;23m 2 \x1b[0m"), 3u);
  EXPECT_EQ(Width("\u00b7\u2588"), 2u);
}

TEST(Count, HasThreeSignificantFigures) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1.00k");
  EXPECT_EQ(Count(12345), "12.3k");
  EXPECT_EQ(Count(999'600), "1.00M");
  EXPECT_EQ(Count(7.25e9), "7.25G");
}

TEST(ConservationLine, SaysSoWhenTheAccountDoesNotBalance) {
  v1::Conservation account;
  account.set_injected(12);
  account.set_delivered(10);
  account.set_dropped(1);
  account.set_in_flight(1);
  EXPECT_EQ(ConservationLine(account),
            "conservation: injected 12 = delivered 10 + dropped 1 + in flight 1");
  account.set_injected(13);
  EXPECT_THAT(ConservationLine(account), HasSubstr("DOES NOT BALANCE"));
}

}  // namespace
}  // namespace bfly::control
