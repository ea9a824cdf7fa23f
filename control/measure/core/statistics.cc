// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// The end, 0 or 1, that at least half of the values are. Nothing: no end is.
std::optional<double> EndOfMost(const std::vector<double>& values) {
  for (const double end : {0.0, 1.0}) {
    const auto at_end = std::count(values.begin(), values.end(), end);
    if (2 * static_cast<size_t>(at_end) >= values.size()) return end;
  }
  return std::nullopt;
}

// The interval of the mean of fractions of which at least half are `end` and some are not.
Interval NearAnEnd(const Estimate& estimate, double end, double error) {
  std::vector<double> distances;
  for (const double value : estimate.sample) distances.push_back(std::abs(value - end));
  const Interval away = MeanOfRareInterval(distances, error);
  const Interval rare =
      end == 0 ? Interval{away.low, away.high} : Interval{1 - away.high, 1 - away.low};
  const double half = estimate.HalfWidth(1 - 2 * error);
  return {std::max(0.0, std::min(rare.low, estimate.mean - half)),
          std::min(1.0, std::max(rare.high, estimate.mean + half))};
}

}  // namespace

double Estimate::HalfWidth(double confidence) const {
  if (values < 2) return std::numeric_limits<double>::infinity();
  if (standard_error == 0) return 0;
  const boost::math::students_t t(values - 1);
  return boost::math::quantile(boost::math::complement(t, (1 - confidence) / 2)) * standard_error;
}

Estimate EstimateMean(const std::vector<double>& values) {
  Estimate estimate;
  estimate.values = static_cast<int>(values.size());
  estimate.sample = values;
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
  const std::optional<double> end = EndOfMost(estimate.sample);
  if (!end || std::isnan(estimate.mean)) return figure;
  figure.interval = [estimate, end = *end](double error) {
    if (estimate.mean != end) return NearAnEnd(estimate, end, error);
    return ProbabilityInterval(estimate.values, end * estimate.values, error);
  };
  const Interval alone = figure.interval(0.025);
  figure.half_width95 = std::max(estimate.mean - alone.low, alone.high - estimate.mean);
  return figure;
}

Reading BySeedsOfCounts(const Estimate& estimate) {
  Reading figure = BySeeds(estimate);
  if (std::isnan(estimate.mean) || EndOfMost(estimate.sample) != 0.0) return figure;
  figure.rare = true;
  figure.interval = [estimate](double error) {
    if (estimate.mean == 0) return RateInterval(0, estimate.values, error);
    const Interval events = MeanOfRareInterval(estimate.sample, error);
    const double half = estimate.HalfWidth(1 - 2 * error);
    return Interval{std::max(0.0, std::min(events.low, estimate.mean - half)),
                    std::max(events.high, estimate.mean + half)};
  };
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

Interval MeanOfRareInterval(const std::vector<double>& values, double error) {
  double sum = 0, squares = 0, most = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    most = std::max(most, value);
  }
  const auto n = static_cast<double>(values.size());
  const double low = boost::math::gamma_p_inv(sum * sum / squares, error) * squares / sum / n;
  // Above, as if one event more had happened, which added the most.
  sum += most;
  squares += most * most;
  const double high = boost::math::gamma_q_inv(sum * sum / squares, error) * squares / sum / n;
  return {low, high};
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
