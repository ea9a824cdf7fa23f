// SPDX-License-Identifier: Apache-2.0
// Sessions of one frame, and jumps after an outage that a late or forged frame follows.
#include <gtest/gtest.h>

#include "dataplane/frames/trunk_sequence.h"
#include "tests/unit/trunk_receiver.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kThird = 0x77777777;

TEST(TrunkSequence, AForgedFrameDoesNotHideASessionThatHasJustBegun) {
  Receiver r;
  r.GetRun(0, 1000);
  r.Pause();
  r.GetRun(0, 10, kOther);
  r.Pause();
  EXPECT_TRUE(r.Get(5, kThird));
  r.GetRun(10, 5000, kOther);
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.taken, 6000u) << "the forged frame took the place of number 10";
}

// A sender begins a new session, and one frame of a third session comes after its number 0.
void GetTheFirstOfASessionAndAForgedFrame(Receiver& r) {
  r.GetRun(0, 1000);
  r.Pause();
  EXPECT_TRUE(r.Get(0, kOther));
  r.Pause();
  EXPECT_TRUE(r.Get(5, kThird));
}

// The position before the change stays that of the first session, and the second one needs sixteen
// frames again.
TEST(TrunkSequence, AForgedFrameAfterTheFirstFrameOfASessionHoldsFifteenUp) {
  Receiver r;
  GetTheFirstOfASessionAndAForgedFrame(r);
  r.GetRun(1, 5000, kOther);
  EXPECT_EQ(r.lost, TrunkSequence::kEvidence - 1) << "number 0 was taken";
  EXPECT_EQ(r.taken - 1 + r.lost, 6000u);
}

TEST(TrunkSequence, AForgedFrameAndAPauseAfterTheFirstFrameOfASessionLoseNothing) {
  Receiver r;
  GetTheFirstOfASessionAndAForgedFrame(r);
  r.Pause();
  r.GetRun(1, 5000, kOther);
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.taken - 1, 6000u);
}

// A frame each 200 ticks. A million numbers are lost, and then frames of before the outage come.
TEST(TrunkSequence, LateFramesAfterALongOutageDoNotHoldTheNextOnesUp) {
  constexpr uint64_t kTicks = 200, kOutage = 1'000'000;
  for (const uint64_t late : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{16}}) {
    for (const uint64_t first_late : {uint64_t{1000}, uint64_t{1005}}) {
      Receiver r{.sequence = TrunkSequence(kTicks * kOutage)};
      const auto get_run = [&](uint64_t from, uint64_t to) {
        for (uint64_t n = from; n < to; ++n) {
          r.now += kTicks - 1;  // and the one that Get adds
          r.Get(n);
        }
      };
      get_run(0, 1000);
      r.now += kTicks * kOutage;
      get_run(first_late, first_late + late);
      get_run(1000 + kOutage, 21'000 + kOutage);
      EXPECT_LE(r.lost, kOutage + TrunkSequence::kEvidence) << late << " from " << first_late;
      EXPECT_EQ(r.taken + r.lost, 21'000 + kOutage) << late << " from " << first_late;
      EXPECT_EQ(r.foreign, 0u) << late << " from " << first_late;
    }
  }
}

TEST(TrunkSequence, AJumpOfMoreThanANumberATickIsNotFollowed) {
  Receiver r;
  r.GetRun(0, 1000);
  r.now += 10 * kQuiet;
  const uint64_t too_far = 1000 + TrunkSequence::kWindow + 11 * kQuiet;
  r.GetRun(too_far, too_far + 100);
  EXPECT_EQ(r.taken, 1000u);
  r.GetRun(1000, 5000);
  EXPECT_EQ(r.taken, 5000u);
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.foreign, 100u);
}

}  // namespace
}  // namespace bfly::dataplane
