// SPDX-License-Identifier: Apache-2.0
// Copies of frames put together, against journeys made by hand.
#include "control/cli/journeys.h"

#include <gtest/gtest.h>

#include <string>

namespace bfly::control {
namespace {

v1::CapturedFrame At(uint32_t hop, uint64_t entered, uint64_t age, const std::string& data) {
  v1::CapturedFrame frame;
  frame.set_place(v1::CapturedFrame::LINK);
  frame.set_hop(hop);
  frame.set_time_ns(entered + age);
  frame.set_age_ns(age);
  frame.set_length(60);
  frame.set_data(data);
  return frame;
}

v1::CapturedFrame Left(uint64_t entered, uint64_t age, const std::string& data) {
  v1::CapturedFrame frame = At(0, entered, age, data);
  frame.set_place(v1::CapturedFrame::PORT_OUT);
  frame.set_port("h1");
  return frame;
}

constexpr uint64_t kDay = 1'795'521'600'000'000'000;

TEST(Journeys, TellFramesThatOverlapApart) {
  Journeys journeys(8);
  journeys.SetHops(2);
  // Two frames of the same bytes, 1 us apart, and one of other bytes that entered with the first.
  journeys.Add(At(0, kDay, 0, "a"), "dp0");
  journeys.Add(At(0, kDay, 0, "b"), "dp0");
  journeys.Add(At(0, kDay + 1000, 0, "a"), "dp0");
  journeys.Add(At(1, kDay + 1000, 500, "a"), "dp0");
  journeys.Add(At(1, kDay, 700, "b"), "dp0");
  journeys.Add(At(1, kDay, 600, "a"), "dp0");
  EXPECT_TRUE(journeys.complete().empty());
  journeys.Add(Left(kDay + 1000, 900, "a"), "dp0");
  journeys.Add(Left(kDay + 1, 1100, "a"), "dp0");  // rounded
  ASSERT_EQ(journeys.complete().size(), 2u);
  EXPECT_EQ(journeys.complete()[0].entered_ns, kDay + 1000);
  EXPECT_EQ(journeys.complete()[0].hops.at(1).age_ns(), 500u);
  EXPECT_EQ(journeys.complete()[1].hops.at(1).age_ns(), 600u);
  ASSERT_EQ(journeys.open().size(), 1u);
  EXPECT_EQ(journeys.open()[0].first.data(), "b");
}

TEST(Journeys, TakeHopsInAnyOrder) {
  Journeys journeys(8);
  journeys.SetHops(3);
  journeys.Add(At(2, kDay, 30, "a"), "dp0");
  journeys.Add(Left(kDay, 40, "a"), "dp0");
  journeys.Add(At(0, kDay, 10, "a"), "dp0");
  journeys.Add(At(1, kDay, 20, "a"), "dp0");
  ASSERT_EQ(journeys.complete().size(), 1u);
  EXPECT_EQ(journeys.complete()[0].left.age_ns(), 40u);
}

TEST(Journeys, AreNotCompleteWhileNobodyKnowsHowManyLinksAPathHas) {
  Journeys journeys(8);
  journeys.Add(At(2, kDay, 30, "a"), "dp1");
  journeys.Add(Left(kDay, 40, "a"), "dp1");
  EXPECT_TRUE(journeys.complete().empty());
  journeys.SetHops(3);
  journeys.Add(At(0, kDay, 10, "a"), "dp0");
  journeys.Add(At(1, kDay, 20, "a"), "dp0");
  ASSERT_EQ(journeys.complete().size(), 1u);
  EXPECT_EQ(journeys.complete()[0].hops.size(), 3u);
}

TEST(Journeys, GoOnAtADataPlaneWhoseClockDiffers) {
  Journeys journeys(8);
  journeys.SetHops(2);
  journeys.Add(At(0, kDay, 0, "a"), "dp0");
  journeys.Add(At(0, kDay + 100'000, 0, "a"), "dp0");
  journeys.Add(At(1, kDay + 97'000, 5, "a"), "dp1");  // nearer to the second
  journeys.Add(Left(kDay + 97'000, 9, "a"), "dp1");
  ASSERT_EQ(journeys.complete().size(), 1u);
  EXPECT_EQ(journeys.complete()[0].entered_ns, kDay + 100'000);
}

TEST(Journeys, FollowOnlySoManyAtATime) {
  Journeys journeys(2);
  journeys.SetHops(1);
  for (uint64_t i = 0; i < 5; ++i) journeys.Add(At(0, kDay + i * 100, 0, "a"), "dp0");
  EXPECT_EQ(journeys.open().size(), 2u);
  // Two seconds later the first one makes room.
  journeys.Add(At(0, kDay + 2'000'000'001, 0, "a"), "dp0");
  ASSERT_EQ(journeys.open().size(), 2u);
  EXPECT_EQ(journeys.open()[1].entered_ns, kDay + 2'000'000'001);
}

TEST(Journeys, GoOnForLongerThanTwoSecondsWhileThereIsRoom) {
  Journeys journeys(64);
  journeys.SetHops(2);
  journeys.Add(At(0, kDay, 0, "a"), "dp0");
  journeys.Add(At(0, kDay + 2'500'000'000, 0, "a"), "dp0");
  journeys.Add(At(1, kDay, 3'000'000'000, "a"), "dp0");
  journeys.Add(Left(kDay, 6'000'000'000, "a"), "dp0");
  ASSERT_EQ(journeys.complete().size(), 1u);
  EXPECT_EQ(journeys.complete()[0].left.age_ns(), 6'000'000'000u);
}

TEST(Journeys, ThatComeSomewhereEverySecondMakeNoRoom) {
  Journeys journeys(2);
  journeys.SetHops(3);
  // The first frame comes to a link every second. The second one comes to none after its first.
  journeys.Add(At(0, kDay, 0, "a"), "dp0");
  journeys.Add(At(0, kDay + 1, 0, "b"), "dp0");
  journeys.Add(At(1, kDay, 1'000'000'000, "a"), "dp0");
  journeys.Add(At(2, kDay, 2'000'000'000, "a"), "dp0");
  journeys.Add(At(0, kDay + 2'500'000'000, 0, "c"), "dp0");
  ASSERT_EQ(journeys.open().size(), 2u);
  EXPECT_EQ(journeys.open()[0].first.data(), "a");
  EXPECT_EQ(journeys.open()[1].first.data(), "c");
  journeys.Add(Left(kDay, 3'000'000'000, "a"), "dp0");
  EXPECT_EQ(journeys.complete().size(), 1u);
}

TEST(Journeys, OfFramesToARowWithoutAPortAreNotComplete) {
  Journeys journeys(2);
  journeys.SetHops(1);
  for (const std::string data : {"a", ""}) {  // a frame of a host, and a packet of a source
    v1::CapturedFrame end = Left(kDay, 10, data);
    end.clear_port();
    journeys.Add(At(0, kDay, 0, data), "dp0");
    journeys.Add(end, "dp0");
  }
  ASSERT_EQ(journeys.complete().size(), 1u);
  EXPECT_EQ(journeys.complete()[0].first.data(), "");
  ASSERT_EQ(journeys.dropped().size(), 1u);
  EXPECT_TRUE(journeys.dropped()[0].is_dropped);
  EXPECT_FALSE(journeys.dropped()[0].has_left);
  EXPECT_EQ(journeys.ended(), 2u);
  EXPECT_TRUE(journeys.open().empty());
}

TEST(Journeys, ThatEndedAreCountedHoweverManyAndTakeNoRoom) {
  Journeys journeys(2);
  journeys.SetHops(1);
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t entered = kDay + i * 3'000'000'000;
    v1::CapturedFrame end = Left(entered, 10, "a");
    end.clear_port();
    journeys.Add(At(0, entered, 0, "a"), "dp0");
    EXPECT_EQ(journeys.ended(), i);
    journeys.Add(end, "dp0");
  }
  EXPECT_EQ(journeys.ended(), 3u);
  EXPECT_TRUE(journeys.open().empty());
  EXPECT_EQ(journeys.dropped()[2].entered_ns, kDay + 6'000'000'000);
}

TEST(Journeys, ThatLackTheirFirstLinkMakeRoomForOthers) {
  Journeys journeys(2);
  journeys.SetHops(2);
  // Two frames that came to the last link and to the end by another way.
  for (uint64_t i = 0; i < 2; ++i) {
    journeys.Add(At(1, kDay + i * 100, 50, "a"), "dp0");
    journeys.Add(Left(kDay + i * 100, 60, "a"), "dp0");
  }
  EXPECT_EQ(journeys.open().size(), 2u);
  EXPECT_TRUE(journeys.begun().empty());
  // The first of them makes room for a frame at its first link, the other one for a second frame.
  journeys.Add(At(0, kDay + 1000, 0, "a"), "dp0");
  journeys.Add(At(0, kDay + 2000, 0, "a"), "dp0");
  ASSERT_EQ(journeys.begun().size(), 2u);
  EXPECT_EQ(journeys.begun()[0].entered_ns, kDay + 1000);
  // Frames on their way do not make room.
  journeys.Add(Left(kDay + 300, 60, "a"), "dp0");
  journeys.Add(At(0, kDay + 3000, 0, "a"), "dp0");
  ASSERT_EQ(journeys.open().size(), 2u);
  for (uint64_t entered : {kDay + 1000, kDay + 2000}) {
    journeys.Add(At(1, entered, 10, "a"), "dp0");
    journeys.Add(Left(entered, 20, "a"), "dp0");
  }
  EXPECT_EQ(journeys.complete().size(), 2u);
  EXPECT_TRUE(journeys.open().empty());
}

}  // namespace
}  // namespace bfly::control
