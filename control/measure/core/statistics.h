// SPDX-License-Identifier: Apache-2.0
// What was measured, with intervals that hold the truth with a stated probability.
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
  double standard_error = 0;  // of the mean; 0 if there is one value
  int values = 0;

  // Half-width of the interval that holds the true mean with this confidence, by Student's t with
  // values - 1 degrees of freedom. Infinite with fewer than two values.
  double HalfWidth(double confidence) const;
};

// `values` are taken as independent and equally distributed.
Estimate EstimateMean(const std::vector<double>& values);

// What was seen of an event whose probability a claim is about.
struct Tail {
  std::string event;  // "congestion >= 8"
  int hits = 0;       // trials in which it happened
  double low95 = 0;   // Clopper-Pearson interval of its probability, 2.5 % on either side
  double high95 = 1;
};

// A measured value that a claim is judged by.
struct Reading {
  double value = 0;
  int trials = 0;  // that it was read from
  // The interval of which either end lies on the wrong side of the truth with probability `error`
  // at most. Null: nothing about the value is random.
  std::function<Interval(double error)> interval = {};
  // Why no verdict can rest on the value; empty if one can.
  std::string doubt = {};
  // The half-width of the 95 % interval, where it is not half of interval(0.025).
  std::optional<double> half_width95 = {};
  // Of a probability: what was seen, and the interval if the event had happened in all trials.
  std::optional<Tail> tail = {};
  std::function<Interval(double error)> all = {};

  // Half-width of the 95 % interval; 0 where nothing is random.
  double HalfWidth95() const;
};

// Seeds that a verdict by Student's t takes. With fewer the interval of a family of some hundred
// claims is so wide that a claim could hardly fail: with 3 seeds 500 standard errors, with 10 seeds
// 10. Also, the fewer values there are the more the far tails of t depend on their distribution.
inline constexpr int kFewestSeeds = 10;

// The mean of one value a seed. There is a doubt with fewer than kFewestSeeds.
Reading BySeeds(const Estimate& estimate);
Reading Exactly(double value, int trials);

// Clopper-Pearson: the probability of what happened in `hits` of `trials` is below `low`, and above
// `high`, with probability `error` at most.
Interval ProbabilityInterval(double trials, double hits, double error);
// The rate of events of a Poisson process that happened `count` times in `time`, likewise (Garwood
// 1936).
Interval RateInterval(double count, double time, double error);

// Of many counts over the same time, each from a Poisson process that should have the rate
// `expected`, only the largest and the smallest are known. The value is the rate of whichever is
// less likely; its interval is so wide that all of the counts hold the expected rate at once.
Reading LeastLikelyRate(double most, double least, double time, double expected, double counts);

}  // namespace bfly::control
