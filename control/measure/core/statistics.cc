// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace bfly::control {

double Estimate::HalfWidth(double confidence) const {
  if (values < 2) return std::numeric_limits<double>::infinity();
  if (standard_error == 0) return 0;
  const boost::math::students_t t(values - 1);
  return boost::math::quantile(boost::math::complement(t, (1 - confidence) / 2)) * standard_error;
}

Estimate EstimateMean(const std::vector<double>& values) {
  Estimate estimate;
  estimate.values = static_cast<int>(values.size());
  if (values.empty()) return estimate;
  const auto n = static_cast<double>(values.size());
  const bool equal = std::all_of(values.begin(), values.end(),
                                 [&](double value) { return value == values.front(); });
  if (equal) {  // the result is exact; a sum would round
    estimate.mean = values.front();
    return estimate;
  }
  for (const double value : values) estimate.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - estimate.mean, 2);
  estimate.standard_error = std::sqrt(squares / (n - 1) / n);
  return estimate;
}

double Reading::HalfWidth95() const {
  if (half_width95) return *half_width95;
  if (interval == nullptr) return 0;
  const Interval alone = interval(0.025);
  return (alone.high - alone.low) / 2;
}

Reading BySeeds(const Estimate& estimate) {
  Reading figure{.value = estimate.mean, .trials = estimate.values};
  if (estimate.values < kFewestSeeds) {
    figure.doubt = absl::StrCat(estimate.values, estimate.values == 1 ? " seed is" : " seeds are",
                                " too few for a verdict, which takes ", kFewestSeeds);
  }
  figure.interval = [estimate](double error) {
    const double half = estimate.HalfWidth(1 - 2 * error);
    return Interval{estimate.mean - half, estimate.mean + half};
  };
  return figure;
}

Reading BySeedsOfFractions(const Estimate& estimate) {
  Reading figure = BySeeds(estimate);
  if (estimate.standard_error != 0 || (estimate.mean != 0 && estimate.mean != 1)) return figure;
  figure.interval = [seeds = static_cast<double>(estimate.values), mean = estimate.mean](
                        double error) { return ProbabilityInterval(seeds, mean * seeds, error); };
  const Interval alone = figure.interval(0.025);
  figure.half_width95 = std::max(estimate.mean - alone.low, alone.high - estimate.mean);
  return figure;
}

Reading Exactly(double value, int trials) { return {.value = value, .trials = trials}; }

Interval ProbabilityInterval(double trials, double hits, double error) {
  using Binomial = boost::math::binomial_distribution<>;
  return {Binomial::find_lower_bound_on_p(trials, hits, error),
          Binomial::find_upper_bound_on_p(trials, hits, error)};
}

Interval RateInterval(double count, double time, double error) {
  return {count > 0 ? boost::math::gamma_p_inv(count, error) / time : 0,
          boost::math::gamma_q_inv(count + 1, error) / time};
}

Reading LeastLikelyRate(double most, double least, double time, double expected, double counts) {
  if (expected == 0) return Exactly(most / time, 1);
  const double mean = expected * time;
  const double most_or_more = most > 0 ? boost::math::gamma_p(most, mean) : 1;
  const double least_or_less = boost::math::gamma_q(least + 1, mean);
  const double count = most_or_more < least_or_less ? most : least;
  return {.value = count / time, .trials = 1, .interval = [count, time, counts](double error) {
            return RateInterval(count, time, error / counts);
          }};
}

}  // namespace bfly::control
