// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_claim_parts.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <utility>
#include <vector>

namespace bfly::control {
namespace {

constexpr char kIfEnded[] = "_if_ended";

// A protocol promises something only for trials that left no request over. For other trials a
// figure whose name ends in kIfEnded has no value.
double FigureOf(const Trial& trial, const std::string& figure) {
  const size_t condition = figure.find(kIfEnded);
  if (condition == std::string::npos) return trial.figure(figure);
  return trial.figure("left") > 0 ? std::nan("") : trial.figure(figure.substr(0, condition));
}

using Values = std::vector<double>;

// Returns the claim with `read` of the values that the trials measured. If no trial measured one,
// the reading has a doubt instead.
Claim Reads(Claim claim, const std::string& figure,
            std::function<Reading(const Point&, const Values&)> read) {
  claim.measured = [figure, read = std::move(read)](const Measurement& m) {
    Values values;
    for (const Trial& trial : m.trials) values.push_back(FigureOf(trial, figure));
    std::erase_if(values, [](double value) { return std::isnan(value); });
    return values.empty() ? Reading{.doubt = "no trial ended by itself"} : read(m.point, values);
  };
  return claim;
}

// For a statement about every trial: the value that breaks it most or, if none breaks it, the value
// nearest to the limit.
double WorstOf(Relation relation, double theory, const Values& values) {
  if (relation == Relation::kAtMost) return *std::max_element(values.begin(), values.end());
  if (relation == Relation::kAtLeast) return *std::min_element(values.begin(), values.end());
  return *std::max_element(values.begin(), values.end(), [&](double a, double b) {
    return std::fabs(a - theory) < std::fabs(b - theory);
  });
}

Reading MeanOfValues(const Values& values) {
  const Estimate estimate = EstimateMean(values);
  Reading reading = BySeeds(estimate);
  reading.half_width95 = estimate.HalfWidth(0.95);
  return reading;
}

}  // namespace

Claim InEveryTrial(Claim claim, const std::string& figure) {
  const auto read = [relation = claim.relation, theory = claim.theory](const Point& point,
                                                                       const Values& values) {
    return Exactly(WorstOf(relation, theory(point), values), static_cast<int>(values.size()));
  };
  return Reads(std::move(claim), figure, read);
}

Claim InTheMean(Claim claim, const std::string& figure) {
  return Reads(std::move(claim), figure,
               [](const Point&, const Values& values) { return MeanOfValues(values); });
}

Claim InTheMeanOfFractions(Claim claim, const std::string& figure) {
  return Reads(std::move(claim), figure, [](const Point&, const Values& values) {
    return BySeedsOfFractions(EstimateMean(values));
  });
}

Claim InTheMeanOfCounts(Claim claim, const std::string& figure) {
  return Reads(std::move(claim), figure, [](const Point&, const Values& values) {
    return BySeedsOfCounts(EstimateMean(values));
  });
}

Claim InTheMeanOfRequests(Claim claim, const std::string& figure) {
  const auto read = [theory = claim.theory](const Point& point, const Values& values) {
    Reading reading = MeanOfValues(values);
    const CircuitPoint& at = point;
    const double requests = static_cast<double>(values.size()) * at.rows();
    const double fraction = theory(point);
    const double spread = std::sqrt(fraction * (1 - fraction) / requests);
    reading.interval = [estimate = EstimateMean(values), spread](double error) {
      const boost::math::normal normal;
      const double half =
          std::max(estimate.HalfWidth(1 - 2 * error),
                   boost::math::quantile(boost::math::complement(normal, error)) * spread);
      return Interval{estimate.mean - half, estimate.mean + half};
    };
    return reading;
  };
  return Reads(std::move(claim), figure, read);
}

Claim InProbability(Claim claim, const std::string& figure, const CircuitValue& least) {
  const auto read = [figure, least](const CircuitPoint& point, const Values& values) {
    const double from = least(point);
    const auto trials = static_cast<double>(values.size());
    const auto hits = static_cast<double>(
        std::count_if(values.begin(), values.end(), [&](double value) { return value >= from; }));
    Reading reading{.value = hits / trials, .trials = static_cast<int>(values.size())};
    const Interval alone = ProbabilityInterval(trials, hits, 0.025);
    reading.tail = Tail{.event = absl::StrCat(figure, " >= ", from),
                        .hits = static_cast<int>(hits),
                        .low95 = alone.low,
                        .high95 = alone.high};
    reading.half_width95 = std::max(hits / trials - alone.low, alone.high - hits / trials);
    reading.interval = [trials, hits](double error) {
      return ProbabilityInterval(trials, hits, error);
    };
    reading.all = [trials](double error) { return ProbabilityInterval(trials, trials, error); };
    return reading;
  };
  return Reads(std::move(claim), figure, read);
}

}  // namespace bfly::control
