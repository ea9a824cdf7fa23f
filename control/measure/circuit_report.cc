// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuit_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/claim_rows.h"
#include "control/measure/json_number.h"
#include "control/measure/statistics.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCounted[] = {"congestion", "disk_contention", "rounds"};

// To twelve digits: the mean of equal whole numbers is that number.
Json Number(double value) {
  double rounded = value;
  (void)absl::SimpleAtod(absl::StrFormat("%.12g", value), &rounded);
  return JsonNumber(rounded);
}

std::set<std::string> FiguresOf(const Measurement& m) {
  std::set<std::string> names;
  for (const Trial& trial : m.trials) {
    for (const auto& [name, value] : trial.figures) names.insert(name);
  }
  return names;
}

// P(figure >= k) for each k that was seen, from the second smallest on.
Json TailOf(const std::vector<double>& values) {
  const std::set<double> seen(values.begin(), values.end());
  Json tail = Json::array();
  for (const double k : seen) {
    if (k == *seen.begin()) continue;
    const auto trials = static_cast<double>(values.size());
    const auto hits = std::count_if(values.begin(), values.end(), [&](double v) { return v >= k; });
    const auto [low, high] = ProbabilityInterval(trials, static_cast<double>(hits), 0.025);
    tail.push_back(Json{{"at_least", k},
                        {"trials", hits},
                        {"probability", hits / trials},
                        {"low95", Number(low)},
                        {"high95", Number(high)}});
  }
  return tail;
}

Json FigureJson(const Measurement& m, const std::string& name) {
  const std::vector<double> values = m.Values(name);
  const Estimate estimate = EstimateMean(values);
  Json json{{"mean", Number(estimate.mean)},
            {"ci95", Number(estimate.HalfWidth(0.95))},
            {"min", *std::min_element(values.begin(), values.end())},
            {"max", *std::max_element(values.begin(), values.end())}};
  if (std::find(std::begin(kCounted), std::end(kCounted), name) != std::end(kCounted)) {
    json["tail"] = TailOf(values);
  }
  return json;
}

}  // namespace

std::string CircuitResultsJson(const CircuitReport& report) {
  Json series = Json::array();
  for (const Measurement& m : report.series) {
    Json row{{"point", m.point.json()}, {"trials", m.trials.size()}};
    for (const std::string& name : FiguresOf(m)) row[name] = FigureJson(m, name);
    series.push_back(std::move(row));
  }
  Json fits = Json::array();
  for (const CurveFit& curve : report.fits) {
    for (const GrowthFit& fit : curve.fits) {
      fits.push_back(Json{{"curve", curve.curve},
                          {"figure", curve.figure},
                          {"shape", fit.shape},
                          {"intercept", fit.intercept},
                          {"slope", fit.slope},
                          {"r_squared", Number(fit.r_squared)},
                          {"sizes", fit.sizes},
                          {"stated", fit.shape == curve.stated}});
    }
  }
  Json comparisons = Json::array();
  for (const SeedComparison& c : report.comparisons) {
    comparisons.push_back(Json{{"figure", c.figure},
                               {"first", c.first},
                               {"second", c.second},
                               {"d", c.d},
                               {"less", c.less},
                               {"equal", c.equal},
                               {"more", c.more},
                               {"mean_difference", Number(c.difference.mean)},
                               {"ci95", Number(c.difference.HalfWidth(0.95))}});
  }
  return Json{{"name", report.experiment.name()},
              {"measured", report.complete},
              {"complete", false},
              {"verdicts", VerdictsJson(report.claims)},
              {"family", FamilyJson(report.family)},
              {"claims", ClaimsJson(report.claims)},
              {"claims_elsewhere", report.claims_elsewhere},
              {"comparisons", comparisons},
              {"series", series},
              {"fits", fits}}
             .dump(2) +
         "\n";
}

std::string CircuitResultsCsv(const CircuitReport& report) {
  std::string csv = "protocol,network,d,permutation,c,c_disk,q,figure,mean,ci95,min,max,trials\n";
  for (const Measurement& m : report.series) {
    const CircuitPoint& point = m.point;
    for (const std::string& name : FiguresOf(m)) {
      const std::vector<double> values = m.Values(name);
      const Estimate estimate = EstimateMean(values);
      const double half = estimate.HalfWidth(0.95);
      absl::StrAppend(
          &csv, absl::StrFormat("%s,%s,%d,%s,%d,%d,%d,%s,%.9g,%s,%.9g,%.9g,%d\n", point.protocol,
                                KindName(point.network), point.d, point.permutation, point.c,
                                point.c_disk, point.q, name, estimate.mean,
                                std::isfinite(half) ? absl::StrFormat("%.9g", half) : "",
                                *std::min_element(values.begin(), values.end()),
                                *std::max_element(values.begin(), values.end()), m.trials.size()));
    }
  }
  return csv;
}

std::string CircuitSecondsCsv(const CircuitReport& report) {
  std::string csv =
      "protocol,permutation,c,c_disk,q,d,median_seconds,min_seconds,max_seconds,trials\n";
  for (const Measurement& m : report.series) {
    const CircuitPoint& point = m.point;
    const SetUpSeconds s = SecondsOf(m);
    absl::StrAppendFormat(&csv, "%s,%s,%d,%d,%d,%d,%.6f,%.6f,%.6f,%d\n", point.protocol,
                          point.permutation, point.c, point.c_disk, point.q, point.d, s.median,
                          s.least, s.most, m.trials.size());
  }
  return csv;
}

absl::Status WriteCircuitReport(const CircuitReport& report, const std::string& folder) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"results.json", CircuitResultsJson(report)},
        {"results.csv", CircuitResultsCsv(report)},
        {"claims.txt", CircuitClaimTable(report)},
        {"tails.txt", CircuitTailTable(report)},
        {"comparisons.txt", CircuitComparisonTable(report)},
        {"fits.txt", CircuitFitTable(report)},
        {"set_up_seconds.csv", CircuitSecondsCsv(report)}}) {
    if (absl::Status status = WriteFile(absl::StrCat(folder, "/", name), text); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
