// SPDX-License-Identifier: Apache-2.0
// What was measured, with intervals that hold the truth with a stated probability.
#pragma once

#include <functional>
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

// A measured value that a claim is judged by.
struct Reading {
  double value = 0;
  int trials = 0;
  // The interval of which either end lies on the wrong side of the truth with probability `error`
  // at most. Null: nothing about the value is random.
  std::function<Interval(double error)> interval = {};
  // Why no verdict can rest on the value; empty if one can.
  std::string doubt = {};
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
