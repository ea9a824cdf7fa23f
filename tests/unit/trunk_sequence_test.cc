// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/trunk_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/trunk_receiver.h"

namespace bfly::dataplane {
namespace {

// A plain model of the window: a set of all numbers that came, instead of a ring of bits.
class PlainWindow {
 public:
  // Returns false for a copy. Adds the numbers that it gives up to `lost`.
  bool Get(uint64_t number, uint64_t& lost) {
    if (number < base_ || !came_.insert(number).second) return false;
    Skip();
    while (came_.size() >= TrunkSequence::kReorder) {
      lost += *came_.begin() - base_;
      base_ = *came_.begin();
      Skip();
    }
    return true;
  }

 private:
  void Skip() {
    while (!came_.empty() && *came_.begin() == base_) {
      came_.erase(came_.begin());
      ++base_;
    }
  }
  uint64_t base_ = 0;
  std::set<uint64_t> came_;  // at or above base_
};

TEST(TrunkSequence, NumbersInOrderAreTaken) {
  Receiver r;
  r.GetRun(0, 100'000);
  EXPECT_EQ(r.taken, 100'000u);
  EXPECT_EQ(r.lost + r.duplicates + r.foreign, 0u);
}

TEST(TrunkSequence, AMissingNumberIsLostAfterAThousandLaterOnesAndNotBefore) {
  Receiver r;
  r.GetRun(0, 10);
  r.GetRun(12, 12 + TrunkSequence::kReorder - 1);
  EXPECT_EQ(r.lost, 0u);
  r.Get(4000);  // one more, wherever it stands in the window
  EXPECT_EQ(r.lost, 2u);
  EXPECT_FALSE(r.Get(10)) << "too late";
  EXPECT_EQ(r.duplicates, 1u);
}

TEST(TrunkSequence, AMissingNumberIsLostAfterSixteenLaterOnesAndAPause) {
  Receiver r;
  r.GetRun(0, 10);
  r.GetRun(13, 13 + TrunkSequence::kEvidence - 1);
  r.Pause();
  EXPECT_EQ(r.lost, 0u);
  r.Get(13 + TrunkSequence::kEvidence - 1);
  r.Pause();
  EXPECT_EQ(r.lost, 3u);
}

TEST(TrunkSequence, FramesThatOvertakeEachOtherAreNotLostAndCopiesAreCounted) {
  Receiver r;
  std::mt19937_64 random(3);
  std::vector<uint64_t> numbers;
  for (uint64_t n = 0; n < 100'000; ++n) numbers.push_back(n);
  for (size_t at = 0; at + 1000 <= numbers.size(); at += 1000) {
    std::shuffle(numbers.begin() + at, numbers.begin() + at + 1000, random);
  }
  for (const uint64_t n : numbers) {
    EXPECT_TRUE(r.Get(n));
    if (n % 10 == 0) {
      EXPECT_FALSE(r.Get(n));
    }
  }
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.foreign, 0u);
  EXPECT_EQ(r.duplicates, 10'000u);
}

TEST(TrunkSequence, AgreesWithAPlainWindowOnLossReorderingAndCopies) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const uint64_t loss = random() % 60;               // in a hundred
    const uint64_t spread = 1 + random() % 1500;       // places that a frame may fall back
    std::vector<std::pair<uint64_t, uint64_t>> cable;  // when it arrives, its number
    for (uint64_t n = 0; n < 20'000; ++n) {
      if (n > 0 && random() % 100 < loss) continue;
      cable.emplace_back(n == 0 ? 0 : n + random() % spread, n);
      if (random() % 20 == 0) cable.emplace_back(n + random() % spread, n);
    }
    std::stable_sort(cable.begin(), cable.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Receiver r;
    PlainWindow plain;
    uint64_t lost = 0;
    for (const auto& [when, n] : cable) {
      ASSERT_EQ(r.Get(n), plain.Get(n, lost)) << "seed " << seed << ", number " << n;
      ASSERT_EQ(r.lost, lost) << "seed " << seed << ", number " << n;
    }
    EXPECT_EQ(r.taken + r.duplicates, cable.size());
    EXPECT_EQ(r.foreign, 0u);
  }
}

TEST(TrunkSequence, OneForgedNumberInAThousandTakesOnePlaceAndNoMore) {
  for (const uint64_t ahead : {uint64_t{1}, uint64_t{1023}, uint64_t{4095}}) {
    Receiver r;
    uint64_t next = 0;
    for (int round = 0; round < 50; ++round) {
      r.GetRun(next, next + 1000);
      next += 1000;
      r.Get(next + ahead);
    }
    r.GetRun(next, next + 10'000);
    EXPECT_EQ(r.lost, 0u) << ahead;
    EXPECT_EQ(r.taken, next + 10'000) << ahead;
    EXPECT_EQ(r.duplicates, 50u) << ahead;
  }
}

TEST(TrunkSequence, FewerThanSixteenForgedFramesInARowLeadNowhere) {
  const uint64_t lies[] = {(uint64_t{1} << 31) - 1,
                           uint64_t{1} << 31,
                           uint64_t{1} << 62,
                           ~uint64_t{0} - 5000,
                           4096,
                           5000,
                           1'000'000};
  for (const uint64_t lie : lies) {
    for (const uint32_t session : {kSession, kOther}) {
      Receiver r;
      for (uint64_t n = 0; n < 1000; ++n) {
        ASSERT_TRUE(r.Get(n));
        for (uint64_t k = 1; k < TrunkSequence::kEvidence; ++k) {
          ASSERT_FALSE(r.Get(n + lie + k, session));
        }
      }
      EXPECT_EQ(r.lost, 0u);
      EXPECT_EQ(r.foreign + r.duplicates, 15u * 999) << "but the last fifteen, which wait";
    }
  }
}

TEST(TrunkSequence, NumberZeroAgainAndAgainChangesNothing) {
  Receiver r;
  for (uint64_t n = 0; n < 20'000; ++n) {
    ASSERT_TRUE(r.Get(n));
    ASSERT_FALSE(r.Get(0));
  }
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.taken, 20'000u);
}

TEST(TrunkSequence, AnOutageLongerThanTheWindowIsCountedWhole) {
  Receiver r;
  r.GetRun(0, 100);
  r.now += 10'000'000;
  r.GetRun(5'000'100, 5'010'100);
  EXPECT_EQ(r.taken + r.lost, 5'010'100u);
  EXPECT_EQ(r.taken, 100u + 10'000 - 1) << "after the pause the second frame is believed";
  EXPECT_EQ(r.foreign + r.duplicates, 0u);
}

TEST(TrunkSequence, AnOutageWithoutAPauseIsCountedWhole) {
  Receiver r;
  r.GetRun(0, 100'000);
  r.now += kQuiet / 2;
  r.GetRun(104'500, 120'000);
  EXPECT_EQ(r.taken + r.lost, 120'000u);
  EXPECT_EQ(r.lost, 4500u + TrunkSequence::kEvidence - 1);
}

TEST(TrunkSequence, ALiarWhoIsBelievedIsLeftAgainAndCountsNothing) {
  Receiver r;
  r.GetRun(0, 1000);
  r.now += uint64_t{1} << 32;
  // The true sender is silent, and the forger knows its session.
  r.GetRun(uint64_t{1} << 31, (uint64_t{1} << 31) + 500);
  EXPECT_GT(r.taken, 1000u);
  const uint64_t forged = r.taken - 1000;
  r.GetRun(1000, 20'000);
  EXPECT_EQ(r.lost, 0u) << "a forged frame stands for the first of two frames that lead back";
  EXPECT_EQ(r.taken - forged, 20'000u - 1);
}

TEST(TrunkSequence, AFrameWithADamagedSessionAfterAPauseLosesTheNextOneOnly) {
  Receiver r;
  r.GetRun(0, 900);
  r.Pause();
  EXPECT_TRUE(r.Get(900, kOther));
  r.GetRun(901, 20'000);
  EXPECT_EQ(r.lost, 1u);
  EXPECT_EQ(r.taken + r.lost, 20'000u);
}

TEST(TrunkSequence, AFrameWithADamagedSessionOnATrunkThatIsAlwaysQuietLosesTheNextOneOnly) {
  Receiver r;
  for (uint64_t n = 0; n < 1000; ++n) {
    r.Pause();
    r.Get(n, n == 900 ? kOther : kSession);
  }
  r.GetRun(1000, 4000);
  EXPECT_EQ(r.lost, 1u);
  EXPECT_EQ(r.taken + r.lost, 4000u);
}

TEST(TrunkSequence, AForgedFrameOfAnotherSessionAfterAPauseTakesOnePlaceAndNoMore) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{1023}, uint64_t{1024}, uint64_t{1} << 40}) {
    Receiver r;
    r.GetRun(0, 1000);
    r.Pause();
    EXPECT_TRUE(r.Get(number, kOther));
    r.GetRun(1000, 20'000);
    EXPECT_EQ(r.lost, 0u) << number;
    EXPECT_EQ(r.taken, 20'000u) << number;
  }
}

TEST(TrunkSequence, AFalseFirstFrameHoldsFifteenTrueOnesUp) {
  Receiver r;
  r.Get(700, kOther);
  r.GetRun(0, 5000);
  EXPECT_EQ(r.lost, TrunkSequence::kEvidence - 1);
  EXPECT_EQ(r.taken - 1 + r.lost, 5000u);
}

TEST(TrunkSequence, AForgedFrameFarAheadInTheWindowProvesNothingWhenTheSenderStartsAgain) {
  Receiver r;
  r.GetRun(0, 2000);
  EXPECT_TRUE(r.Get(3000));
  r.Pause();
  r.GetRun(0, 2000, kOther);
  EXPECT_EQ(r.taken, 4001u);
  EXPECT_EQ(r.lost, 0u);
}

TEST(TrunkSequence, WhatIsMissingBeforeAForgedSessionIsStillCounted) {
  Receiver r;
  r.GetRun(0, 100);
  r.GetRun(102, 110);
  r.Pause();
  EXPECT_TRUE(r.Get(900, kOther));
  r.GetRun(110, 5000);
  EXPECT_EQ(r.lost, 2u);
  EXPECT_EQ(r.taken + r.lost, 5000u);
}

// 4,900 numbers are lost at once, and two of them come after all, `late` packets after the outage.
TEST(TrunkSequence, TwoOldFramesAfterAnOutageChangeNoSum) {
  for (const uint64_t late : {uint64_t{20}, uint64_t{500}, uint64_t{2000}}) {
    Receiver r;
    r.GetRun(0, 100);
    r.now += 10 * kQuiet;
    r.GetRun(5000, 5000 + late);
    r.Get(200);
    r.Get(201);
    r.GetRun(5000 + late, 12'000);
    EXPECT_EQ(r.taken + r.lost, 12'000u) << late;
    EXPECT_LE(r.lost, 4900u + TrunkSequence::kEvidence) << late;
  }
}

TEST(TrunkSequence, ManyOldFramesInTheTrialOfAnOutageChangeNoSum) {
  Receiver r;
  r.GetRun(0, 100);
  r.now += 10 * kQuiet;
  r.GetRun(5000, 5500);
  r.GetRun(200, 240);
  r.GetRun(5500, 12'000);
  EXPECT_EQ(r.taken + r.lost, 12'000u);
}

TEST(TrunkSequence, TwoOldFramesAfterAPauseLeadNowhere) {
  Receiver r;
  r.GetRun(0, 10'000);
  r.Pause();
  EXPECT_FALSE(r.Get(200));
  EXPECT_FALSE(r.Get(201));
  r.GetRun(10'000, 12'000);
  EXPECT_EQ(r.taken, 12'000u);
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.foreign, 2u);
}

TEST(TrunkSequence, ANewSessionIsTakenUpAtOnceAfterAPause) {
  Receiver r;
  r.GetRun(0, 1000);
  r.now += kQuiet;
  r.GetRun(0, 500, kOther);
  EXPECT_EQ(r.taken, 1500u);
  EXPECT_EQ(r.lost + r.duplicates + r.foreign, 0u);
}

TEST(TrunkSequence, ANewSessionWithoutAPauseIsTakenUpAfterSixteenFrames) {
  Receiver r;
  r.GetRun(0, 1000);
  r.GetRun(0, 5000, kOther);
  EXPECT_EQ(r.taken, 1000u + 5000 - 15);
  EXPECT_EQ(r.lost, 15u);
  EXPECT_EQ(r.foreign, 0u);
}

TEST(TrunkSequence, OldFramesSentAgainDoNotHoldANewSessionUp) {
  Receiver r;
  r.GetRun(0, 10'000);
  r.now += kQuiet;
  for (uint64_t n = 0; n < 5000; ++n) {
    ASSERT_TRUE(r.Get(n, kOther));
    r.Get(9'000 + n % 1000);
    r.Get(n);
  }
  EXPECT_EQ(r.lost, 0u);
  EXPECT_EQ(r.taken, 15'000u);
}

TEST(TrunkSequence, AReceiverThatComesLaterMissesNothingFromBefore) {
  Receiver r;
  r.GetRun(1'000'000, 1'010'000);
  EXPECT_EQ(r.taken, 10'000u);
  EXPECT_EQ(r.lost, 0u);
}

TEST(TrunkSequence, AReceiverThatJoinsMissesNothingThatAnotherTook) {
  Receiver r{.sequence = TrunkSequence(kQuiet, /*joins=*/true)};
  r.GetRun(200, 220);
  r.Pause();
  EXPECT_EQ(r.taken, 20u);
  EXPECT_EQ(r.lost, 0u);
  r.GetRun(225, 2000);
  EXPECT_EQ(r.lost, 5u);
}

TEST(TrunkSequence, AStreamThatLosesNineInTenIsFollowedAndCountedWhole) {
  Receiver r;
  uint64_t sent = 0;
  for (; sent < 200'000; ++sent) {
    if (sent % 1000 < 100) {
      r.Get(sent);
    } else {
      ++r.now;
    }
  }
  // Sixteen frames move the window on, and four hundred fit into it.
  EXPECT_GE(r.taken, 20'000u / 416 * 400);
  r.GetRun(sent, sent + 2000);
  EXPECT_EQ(r.taken + r.lost, sent + 2000);
}

}  // namespace
}  // namespace bfly::dataplane
