// SPDX-License-Identifier: Apache-2.0
// Arrival processes against their closed forms. Seeds are fixed. A correct process would pass the
// bounds with 999 of a thousand seeds.
#include "topologies/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bfly {
namespace {

using ::testing::HasSubstr;

constexpr double kTicks = 1e12;  // a second in picoseconds

// The first `count` births of a row, in units of time.
std::vector<double> Births(const ArrivalSpec& spec, int count, Row row = 0, uint64_t seed = 1,
                           double phase = 0) {
  EXPECT_TRUE(CheckArrivals(spec).ok()) << CheckArrivals(spec);
  const Arrivals arrivals(spec, seed, kTicks);
  Arrivals::RowState state = arrivals.First(row, phase);
  std::vector<double> births;
  for (int i = 0; i < count; ++i, arrivals.Next(row, state)) {
    EXPECT_EQ(state.index, static_cast<uint64_t>(i));
    births.push_back(static_cast<double>(state.time) / kTicks);
  }
  return births;
}

std::vector<double> Gaps(const std::vector<double>& births) {
  std::vector<double> gaps;
  for (size_t i = 1; i < births.size(); ++i) gaps.push_back(births[i] - births[i - 1]);
  return gaps;
}

struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments MomentsOf(const std::vector<double>& values) {
  Moments m;
  for (double v : values) m.mean += v / static_cast<double>(values.size());
  for (double v : values) {
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size() - 1);
  }
  return m;
}

// Births in [i, i + 1) times `length`, for whole intervals only.
std::vector<double> CountsPerInterval(const std::vector<double>& births, double length) {
  std::vector<double> counts(static_cast<size_t>(births.back() / length));
  for (double birth : births) {
    const auto i = static_cast<size_t>(birth / length);
    if (i < counts.size()) ++counts[i];
  }
  return counts;
}

TEST(Arrivals, ConstantIsOneEveryGapFromThePhaseOn) {
  const ArrivalSpec spec{.rate = 3};
  const std::vector<double> births = Births(spec, 4, 0, 1, 0.25);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(births[i], (i + 0.25) / 3, 1e-9);
  // Packet 10^7 is at its place to a nanosecond, because errors do not accumulate.
  const Arrivals arrivals(spec, 1, kTicks);
  Arrivals::RowState state = arrivals.First(0, 0.25);
  for (int i = 0; i < 10'000'000; ++i) arrivals.Next(0, state);
  EXPECT_NEAR(static_cast<double>(state.time) / kTicks, (1e7 + 0.25) / 3, 1e-9);
}

TEST(Arrivals, RowsStayIndependentBeyondEveryNumberOfPackets) {
  const Arrivals arrivals({ArrivalProcess::kPoisson, 1}, 1, kTicks);
  Arrivals::RowState late, early;
  late.index = uint64_t{1} << 40;
  for (int i = 0; i < 100; ++i) {
    const uint64_t late_before = late.time, early_before = early.time;
    arrivals.Next(0, late);
    arrivals.Next(1, early);
    EXPECT_NE(late.time - late_before, early.time - early_before) << i;
  }
}

// Kolmogorov-Smirnov: D sqrt(n) exceeds 1.95 once in a thousand.
TEST(Arrivals, PoissonGapsAreExponentialWithTheExactRate) {
  constexpr int kPackets = 100'000;
  for (const double rate : {0.5, 1000.0}) {
    std::vector<double> births = Births({ArrivalProcess::kPoisson, rate}, kPackets);
    std::vector<double> gaps = Gaps(births);
    gaps.push_back(births[0]);  // the first gap is distributed like the others
    const Moments m = MomentsOf(gaps);
    // Standard errors of mean and variance of n exponentials: 1/sqrt(n) and sqrt(8/n).
    EXPECT_NEAR(m.mean * rate, 1, 3.3 / std::sqrt(kPackets));
    EXPECT_NEAR(m.variance * rate * rate, 1, 3.3 * std::sqrt(8.0 / kPackets));
    std::sort(gaps.begin(), gaps.end());
    double distance = 0;
    for (size_t i = 0; i < gaps.size(); ++i) {
      const double expected = -std::expm1(-gaps[i] * rate);
      distance = std::max({distance, std::abs(expected - static_cast<double>(i) / kPackets),
                           std::abs(expected - static_cast<double>(i + 1) / kPackets)});
    }
    EXPECT_LT(distance * std::sqrt(kPackets), 1.95);
  }
}

TEST(Arrivals, PoissonCountsHaveVarianceEqualToTheirMean) {
  const std::vector<double> counts =
      CountsPerInterval(Births({ArrivalProcess::kPoisson, 7}, 70'000, 3), 1);
  const Moments m = MomentsOf(counts);
  const double n = static_cast<double>(counts.size());
  EXPECT_NEAR(m.mean, 7, 3.3 * std::sqrt(7 / n));
  // The variance of a Poisson sample's variance is (mu + 2 mu^2) / n.
  EXPECT_NEAR(m.variance, 7, 3.3 * std::sqrt((7 + 2 * 49) / n));
}

// Geometric gaps: chi-square over 1..9 slots and more; 9 degrees of freedom, 27.9 at one in a
// thousand.
TEST(Arrivals, BernoulliSendsInASlotWithProbabilityRateTimesSlot) {
  constexpr double kP = 0.3, kSlot = 0.01;
  constexpr int kPackets = 50'000;
  const std::vector<double> births =
      Births({ArrivalProcess::kBernoulli, kP / kSlot, kSlot}, kPackets);
  std::vector<double> counts(10);
  double before = -1;
  for (double birth : births) {
    const double slot = std::round(birth / kSlot);
    EXPECT_NEAR(birth, slot * kSlot, 1e-9);  // at the start of a slot
    ASSERT_GT(slot, before);                 // at most one a slot
    ++counts[std::min<size_t>(9, static_cast<size_t>(slot - before) - 1)];
    before = slot;
  }
  double statistic = 0, rest = 1;
  for (int k = 0; k < 10; ++k) {
    const double probability = k < 9 ? kP * std::pow(1 - kP, k) : rest;
    rest -= probability;
    const double expected = probability * kPackets;
    statistic += (counts[k] - expected) * (counts[k] - expected) / expected;
  }
  EXPECT_LT(statistic, 27.9);
  // Slots to n successes: mean n/p, variance n (1-p)/p^2.
  EXPECT_NEAR((before + 1) * kP / kPackets, 1, 3.3 * std::sqrt((1 - kP) / kPackets));

  const std::vector<double> every = Births({ArrivalProcess::kBernoulli, 100, 0.01}, 1000);
  for (int i = 0; i < 1000; ++i) EXPECT_NEAR(every[i], 0.01 * i, 1e-9);
}

// The number in a slot is Poisson(rate * slot): chi-square over 0..6 and more; 7 degrees of
// freedom, 24.3 at one in a thousand.
TEST(Arrivals, SlottedBatchesArePoissonAtSlotStarts) {
  constexpr double kMean = 2, kSlot = 0.5;
  const std::vector<double> births =
      Births({ArrivalProcess::kSlottedBatch, kMean / kSlot, kSlot}, 100'000, 5);
  for (double birth : births) {
    ASSERT_NEAR(birth / kSlot, std::round(birth / kSlot), 1e-9);
  }
  std::vector<double> sizes(static_cast<size_t>(std::round(births.back() / kSlot)));
  for (double birth : births) {
    const auto slot = static_cast<size_t>(std::round(birth / kSlot));
    if (slot < sizes.size()) ++sizes[slot];
  }
  const double n = static_cast<double>(sizes.size());
  const Moments m = MomentsOf(sizes);
  EXPECT_NEAR(m.mean, kMean, 3.3 * std::sqrt(kMean / n));
  EXPECT_NEAR(m.variance, kMean, 3.3 * std::sqrt((kMean + 2 * kMean * kMean) / n));
  double statistic = 0, rest = 1, probability = std::exp(-kMean);
  for (int k = 0; k < 8; ++k) {
    const double expected = n * (k < 7 ? probability : rest);
    double seen = 0;
    for (double size : sizes) seen += k < 7 ? size == k : size >= 7;
    statistic += (seen - expected) * (seen - expected) / expected;
    rest -= probability;
    probability *= kMean / (k + 1);
  }
  EXPECT_LT(statistic, 24.3);
}

// An interrupted Poisson process with rates a = 1/on out of and b = 1/off into the on state and
// peak rate h: counts over a long time t have mean t h b/(a+b) and variance over mean 1 + 2 a
// h/(a+b)^2 (Fischer and Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook",
// 1993, the limit of the index of dispersion with one rate 0).
TEST(Arrivals, OnOffHasTheRateAndTheBurstinessOfAnInterruptedPoissonProcess) {
  constexpr double kRate = 100, kOn = 0.1, kDuty = 0.25, kLong = 40;
  const double a = 1 / kOn, b = a * kDuty / (1 - kDuty), peak = kRate / kDuty;
  const double dispersion = 1 + 2 * a * peak / ((a + b) * (a + b));
  std::vector<double> counts;
  for (Row row = 0; row < 20; ++row) {
    const auto births = Births({ArrivalProcess::kOnOff, kRate, 0, kOn, kDuty}, 100'000, row, 9);
    EXPECT_TRUE(std::is_sorted(births.begin(), births.end()));
    for (double c : CountsPerInterval(births, kLong)) counts.push_back(c);
  }
  const Moments m = MomentsOf(counts);
  const double n = static_cast<double>(counts.size());
  EXPECT_GT(n, 300);
  EXPECT_NEAR(m.mean, kRate * kLong, 3.3 * std::sqrt(dispersion * kRate * kLong / n));
  // Near normal counts: their variance has the relative standard error sqrt(2/n).
  EXPECT_NEAR(m.variance / m.mean / dispersion, 1, 3.3 * std::sqrt(2 / n));
}

TEST(Arrivals, OnOffStartsStationary) {
  // The part of 4000 rows that send at once, within 1/50 of an on period at 50 packets each: those
  // that are on, but for one in e.
  constexpr double kDuty = 0.5;
  int early = 0;
  for (Row row = 0; row < 4000; ++row) {
    early += Births({ArrivalProcess::kOnOff, 2500 * kDuty, 0, 1, kDuty}, 1, row)[0] < 1.0 / 50;
  }
  EXPECT_NEAR(early / 4000.0, kDuty, 0.03);
  // A row that is always on is a Poisson process.
  const Moments m = MomentsOf(Gaps(Births({ArrivalProcess::kOnOff, 10, 0, 1, 1}, 50'000)));
  EXPECT_NEAR(m.mean * 10, 1, 3.3 / std::sqrt(50'000));
  EXPECT_NEAR(m.variance * 100, 1, 3.3 * std::sqrt(8.0 / 50'000));
}

TEST(Arrivals, DependOnSeedRowAndIndexAlone) {
  for (const ArrivalSpec& spec :
       {ArrivalSpec{ArrivalProcess::kPoisson, 5}, ArrivalSpec{ArrivalProcess::kBernoulli, 5, 0.1},
        ArrivalSpec{ArrivalProcess::kOnOff, 5, 0, 1, 0.5},
        ArrivalSpec{ArrivalProcess::kSlottedBatch, 5, 0.1}}) {
    EXPECT_EQ(Births(spec, 100, 3, 4), Births(spec, 100, 3, 4));
    EXPECT_NE(Births(spec, 100, 3, 4), Births(spec, 100, 2, 4));
    EXPECT_NE(Births(spec, 100, 3, 4), Births(spec, 100, 3, 5));
  }
}

TEST(Arrivals, WhatIsWrongIsNamedWithWhatWouldBeRight) {
  const auto error = [](const ArrivalSpec& spec) {
    return std::string(CheckArrivals(spec).message());
  };
  EXPECT_EQ(error({ArrivalProcess::kPoisson, -1}), "rate: -1 is not a rate; it must be above 0");
  EXPECT_THAT(error({ArrivalProcess::kPoisson, INFINITY}), HasSubstr("rate: inf"));
  EXPECT_THAT(error({ArrivalProcess::kConstant, NAN}), HasSubstr("rate: nan"));
  EXPECT_EQ(error({ArrivalProcess::kBernoulli, 1}),
            "slot: 0 is not a length of time; bernoulli needs one above 0");
  EXPECT_EQ(error({ArrivalProcess::kSlottedBatch, 1, -1}),
            "slot: -1 is not a length of time; slotted-batch needs one above 0");
  EXPECT_EQ(
      error({ArrivalProcess::kBernoulli, 4, 0.5}),
      "slot: rate * slot is 2, which is not a probability; at this rate a slot lasts at most 0.25");
  EXPECT_TRUE(CheckArrivals({ArrivalProcess::kSlottedBatch, 4, 0.5}).ok());
  EXPECT_THAT(error({ArrivalProcess::kOnOff, 1, 0, 0, 0.5}), HasSubstr("on: 0 is not a length"));
  EXPECT_EQ(error({ArrivalProcess::kOnOff, 1, 0, 1, 0}),
            "duty: 0 is not a part of the time; it must be above 0 and at most 1");
  EXPECT_THAT(error({ArrivalProcess::kOnOff, 1, 0, 1, 1.1}), HasSubstr("duty: 1.1"));
  // Half of the time on, ten packets a second and on periods of a nanosecond: a packet comes every
  // 50 ms of being on, which are 5e7 on periods. 10^4 periods of 5 us are 50 ms too.
  EXPECT_EQ(error({ArrivalProcess::kOnOff, 10, 0, 1e-9, 0.5}),
            "on: 1e-09 gives 5e+07 on periods for each packet (allowed: 10000); at this rate and "
            "duty an on period lasts at least 5e-06");
  EXPECT_EQ(error({ArrivalProcess::kOnOff, 10, 0, 5e-6, 0.5}), "");
  EXPECT_THAT(error({ArrivalProcess::kOnOff, 10, 0, 4.9e-6, 0.5}), HasSubstr("on: 4.9e-06"));
  EXPECT_EQ(std::string(ArrivalProcessByName("burst").status().message()),
            "process: \"burst\" is unknown; use constant, poisson, bernoulli, on-off, "
            "slotted-batch");
  EXPECT_EQ(ArrivalProcessByName("on-off").value(), ArrivalProcess::kOnOff);
}

}  // namespace
}  // namespace bfly
