// SPDX-License-Identifier: Apache-2.0
// Estimates with intervals that hold the truth with a stated probability.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bfly::control {

struct Interval {
  double low = 0;
  double high = 0;
};

struct Estimate {
  double mean = 0;
  double standard_error = 0;  // the standard error of the mean; 0 if there is only one value
  int values = 0;
  std::vector<double> sample = {};  // the values themselves

  // Half-width of the interval that holds the true mean with this confidence, by Student's t with
  // values - 1 degrees of freedom. Infinite with fewer than two values.
  double HalfWidth(double confidence) const;
};

// Treats `values` as independent and identically distributed.
Estimate EstimateMean(const std::vector<double>& values);

// The observations of an event whose probability a claim is about.
struct Tail {
  std::string event;  // "congestion >= 8"
  int hits = 0;       // trials in which it happened
  double low95 = 0;   // Clopper-Pearson interval of its probability, 2.5 % on either side
  double high95 = 1;
};

// A measured value that a claim is judged by.
struct Reading {
  double value = 0;
  int trials = 0;  // the number of trials from which it was read
  // Returns an interval. Each of its ends lies on the wrong side of the truth with probability
  // `error` at most. Null: nothing about the value is random.
  std::function<Interval(double error)> interval = {};
  // Why no verdict can rest on the value; empty if a verdict can.
  std::string doubt = {};
  // The half-width of the 95 % interval, if it is not half the width of interval(0.025).
  std::optional<double> half_width95 = {};
  // Only for a probability.
  std::optional<Tail> tail = {};
  std::function<Interval(double error)> all = {};
  // What is counted happened in so few trials that a bound may be too small for them to contradict
  // it. Then no claim passes whose bound lies within the interval.
  bool rare = false;

  // Half-width of the 95 % interval; 0 if nothing is random.
  double HalfWidth95() const;
};

// The least number of seeds for a verdict by Student's t. With fewer seeds the interval of a family
// of some hundred claims is so wide that a claim could hardly fail: 500 standard errors with 3
// seeds, 10 with 10 seeds. Also, with few values the far tails of t depend much on the distribution
// of the values.
inline constexpr int kFewestSeeds = 10;

// The mean of one value for each seed. With fewer than kFewestSeeds values the reading has a doubt.
Reading BySeeds(const Estimate& estimate);
// The same for the mean of one fraction, from 0 to 1, for each seed. Where at least half of the
// seeds have 0, or at least half have 1, the seeds that differ may be so few that Student's t
// misses the truth too often. Then the interval also holds MeanOfRareInterval of the distances from
// there. If no seed differs, what changes the fraction may be rarer than the seeds can show. Then
// the interval is that of an event which happened in none of them or in all. It holds the truth,
// since P(all are 1) is at most the mean to the power of the number of seeds.
Reading BySeedsOfFractions(const Estimate& estimate);
// The same for the mean of one count of events for each seed. Where at least half of the seeds
// counted none the reading is `rare`, and its interval also holds MeanOfRareInterval. If no seed
// counted any, it is the interval of the rate of a Poisson process without an event in as many
// units of time as there are seeds.
Reading BySeedsOfCounts(const Estimate& estimate);
Reading Exactly(double value, int trials);

// The Clopper-Pearson interval. The probability of an event that happened in `hits` of `trials` is
// below `low` with probability `error` at most, and above `high` likewise.
Interval ProbabilityInterval(double trials, double hits, double error);
// The same for the rate of a Poisson process that had `count` events in `time` (Garwood 1936).
Interval RateInterval(double count, double time, double error);
// The same for the mean of values of at least 0, of which most are 0: each of the others is what
// one event, or several, of a Poisson process added. Where all events add the same, the interval is
// RateInterval of their number. Where they add different amounts, Fay and Feuer 1997 found it wide
// enough in all their simulations. No event adds more than the largest value, which is above 0.
Interval MeanOfRareInterval(const std::vector<double>& values, double error);

// There are `counts` counts over the same time, each from a Poisson process that should have the
// rate `expected`, but only the largest and the smallest count are known. The value is the rate of
// the less likely one of the two. Its interval is so wide that all counts satisfy the expected rate
// at once.
Reading LeastLikelyRate(double most, double least, double time, double expected, double counts);

}  // namespace bfly::control
