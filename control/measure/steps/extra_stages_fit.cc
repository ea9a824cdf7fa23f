// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/extra_stages_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/figure_rows.h"
#include "control/measure/steps/extra_stages.h"
#include "control/measure/steps/step_point.h"

namespace bfly::control {
namespace {

using Terms = std::array<double, kLatencyTerms>;
using ExtraFitJson = nlohmann::ordered_json;

constexpr const char* kTermNames[kLatencyTerms] = {"1", "n", "t", "t/2^r", "n t/2^r", "r"};
constexpr Terms kPublishedMean = {-12.90, 3.18, 0.75, 0.69, 0.07, 3.20};
constexpr Terms kPublishedMax = {-29.69, 8.09, 1.83, 0.84, 0.76, -1.43};
// Below it the points do not determine the terms.
constexpr double kSmallestPivot = 1e-9;

Terms TermsOf(const MeasuredLatency& point) {
  const double share = point.t * std::exp2(-point.r);
  return {1, point.n, point.t, share, point.n * share, point.r};
}

double Sum(const Terms& terms, const Terms& at) {
  double sum = 0;
  for (size_t i = 0; i < kLatencyTerms; ++i) sum += terms[i] * at[i];
  return sum;
}

// Solves the normal equations by elimination with pivots, each column scaled to length 1. False:
// the points do not determine the terms.
bool Solve(std::array<std::array<double, kLatencyTerms + 1>, kLatencyTerms>& rows, Terms& terms) {
  Terms scale{};
  for (size_t i = 0; i < kLatencyTerms; ++i) {
    scale[i] = std::sqrt(rows[i][i]);
    if (scale[i] == 0) return false;
  }
  for (size_t i = 0; i < kLatencyTerms; ++i) {
    for (size_t j = 0; j < kLatencyTerms; ++j) rows[i][j] /= scale[i] * scale[j];
    rows[i][kLatencyTerms] /= scale[i];
  }
  for (size_t column = 0; column < kLatencyTerms; ++column) {
    size_t pivot = column;
    for (size_t i = column; i < kLatencyTerms; ++i) {
      if (std::abs(rows[i][column]) > std::abs(rows[pivot][column])) pivot = i;
    }
    std::swap(rows[column], rows[pivot]);
    if (std::abs(rows[column][column]) < kSmallestPivot) return false;
    for (size_t i = 0; i < kLatencyTerms; ++i) {
      if (i == column) continue;
      const double times = rows[i][column] / rows[column][column];
      for (size_t j = column; j <= kLatencyTerms; ++j) rows[i][j] -= times * rows[column][j];
    }
  }
  for (size_t i = 0; i < kLatencyTerms; ++i) {
    terms[i] = rows[i][kLatencyTerms] / rows[i][i] / scale[i];
  }
  return true;
}

// The points of one rule: a formula is about one order of the packets and about rows that are
// renamed at all of its points or at none.
struct RulePoints {
  std::string order, renaming;  // as in the file
  std::vector<MeasuredLatency> points;

  // "priority", or "priority renamed".
  std::string Rule() const { return order + (renaming == "true" ? " renamed" : ""); }
};

std::vector<RulePoints> PointsOf(const Report& report, const std::string& figure) {
  std::vector<RulePoints> rules;
  for (const Measurement& m : report.series) {
    const StepPoint& point = m.point;
    if (point.program != "extra_stages" || point.word("permutation") != "random") continue;
    if (point.number("t") < 2 || std::isnan(m.Over(figure).mean)) continue;
    const std::string &order = point.word("order"), &renaming = point.word("renaming");
    auto rule = std::find_if(rules.begin(), rules.end(), [&](const RulePoints& known) {
      return known.order == order && known.renaming == renaming;
    });
    if (rule == rules.end()) rule = rules.insert(rule, {order, renaming, {}});
    rule->points.push_back(
        {static_cast<double>(point.d), point.number("r"), point.number("t"), m.Over(figure).mean});
  }
  return rules;
}

// The r with the least mean latency, for one (n, t). A smaller or larger r may have less if `first`
// or `last` says that none was swept.
struct BestRow {
  double n = 0, t = 0, measured = 0, published = 0, latency = 0;
  bool first = false;
  bool last = false;
};

std::vector<BestRow> BestOf(const std::vector<MeasuredLatency>& points) {
  std::map<std::pair<double, double>, std::vector<MeasuredLatency>> sweeps;
  for (const MeasuredLatency& point : points) sweeps[{point.n, point.t}].push_back(point);
  std::vector<BestRow> rows;
  for (const auto& [key, sweep] : sweeps) {
    if (sweep.size() < 3) continue;
    const auto by_latency = [](const MeasuredLatency& a, const MeasuredLatency& b) {
      return a.latency < b.latency;
    };
    const auto by_r = [](const MeasuredLatency& a, const MeasuredLatency& b) { return a.r < b.r; };
    const MeasuredLatency& best = *std::min_element(sweep.begin(), sweep.end(), by_latency);
    const auto [least, most] = std::minmax_element(sweep.begin(), sweep.end(), by_r);
    rows.push_back({key.first, key.second, best.r, BestExtraStages(key.first, key.second),
                    best.latency, best.r == least->r && best.r > 0, best.r == most->r});
  }
  return rows;
}

struct FittedFormula {
  const char* name;
  const char* figure;
  Terms published;
};
constexpr FittedFormula kFormulas[] = {{"L_avg", "mean_latency", kPublishedMean},
                                       {"L_max", "max_latency", kPublishedMax}};

}  // namespace

LatencyFit FitLatency(const std::vector<MeasuredLatency>& points) {
  LatencyFit fit{.points = points.size()};
  std::array<std::array<double, kLatencyTerms + 1>, kLatencyTerms> rows{};
  double mean = 0;
  for (const MeasuredLatency& point : points) {
    const Terms at = TermsOf(point);
    for (size_t i = 0; i < kLatencyTerms; ++i) {
      for (size_t j = 0; j < kLatencyTerms; ++j) rows[i][j] += at[i] * at[j];
      rows[i][kLatencyTerms] += at[i] * point.latency;
    }
    mean += point.latency / static_cast<double>(points.size());
  }
  if (points.size() <= kLatencyTerms || !Solve(rows, fit.terms)) return {};
  double left = 0, all = 0;
  for (const MeasuredLatency& point : points) {
    left += std::pow(point.latency - Sum(fit.terms, TermsOf(point)), 2);
    all += std::pow(point.latency - mean, 2);
  }
  fit.r_squared = all > 0 ? 1 - left / all : 1;
  return fit;
}

std::string ExtraStagesFitTable(const Report& report) {
  std::string text;
  for (const FittedFormula& formula : kFormulas) {
    for (const RulePoints& rule : PointsOf(report, formula.figure)) {
      const LatencyFit fit = FitLatency(rule.points);
      if (fit.points == 0) continue;
      if (text.empty()) {
        text = absl::StrFormat("%-24s", "latency, fitted");
        for (const char* term : kTermNames) absl::StrAppendFormat(&text, " %9s", term);
        absl::StrAppendFormat(&text, " %12s %8s %7s\n", "t/2^r, n=12", "R^2", "points");
      }
      absl::StrAppendFormat(&text, "%-24s", absl::StrCat(formula.name, " ", rule.Rule()));
      for (const double term : fit.terms) absl::StrAppendFormat(&text, " %9.3f", term);
      absl::StrAppendFormat(&text, " %12.3f %8.4f %7d\n", fit.OverStages(12), fit.r_squared,
                            fit.points);
      absl::StrAppendFormat(&text, "%-24s", "  published (priority)");
      for (const double term : formula.published) absl::StrAppendFormat(&text, " %9.3f", term);
      absl::StrAppendFormat(&text, " %12.3f\n", formula.published[3] + 12 * formula.published[4]);
    }
  }
  std::string best;
  for (const RulePoints& rule : PointsOf(report, "mean_latency")) {
    for (const BestRow& row : BestOf(rule.points)) {
      const char* end = row.first ? " (first)" : row.last ? " (last)" : "";
      absl::StrAppendFormat(&best, "%-16s %6.0f %6.0f %14s %10.2f %14.2f\n", rule.Rule(), row.n,
                            row.t, absl::StrFormat("%.0f%s", row.measured, end), row.latency,
                            row.published);
    }
  }
  if (best.empty()) return text;
  return absl::StrCat(text, text.empty() ? "" : "\n",
                      absl::StrFormat("%-16s %6s %6s %14s %10s %14s\n", "order", "n", "t", "best r",
                                      "L_avg", "r* (formula)"),
                      best);
}

ExtraFitJson ExtraStagesFitJson(const Report& report) {
  const std::vector<RulePoints> rules = PointsOf(report, "mean_latency");
  if (rules.empty()) return ExtraFitJson();
  ExtraFitJson json{{"formulas", ExtraFitJson::array()}, {"best", ExtraFitJson::array()}};
  for (const FittedFormula& formula : kFormulas) {
    for (const RulePoints& rule : PointsOf(report, formula.figure)) {
      const LatencyFit fit = FitLatency(rule.points);
      if (fit.points == 0) continue;
      ExtraFitJson row{{"name", formula.name},
                       {"figure", formula.figure},
                       {"order", rule.order},
                       {"renaming", rule.renaming}};
      for (size_t i = 0; i < kLatencyTerms; ++i) {
        row["terms"][kTermNames[i]] = {{"fitted", RoundedNumber(fit.terms[i])},
                                       {"published", formula.published[i]}};
      }
      row["t_over_stages_at_12"] = {
          {"fitted", RoundedNumber(fit.OverStages(12))},
          {"published", RoundedNumber(formula.published[3] + 12 * formula.published[4])}};
      row["r_squared"] = RoundedNumber(fit.r_squared);
      row["points"] = fit.points;
      json["formulas"].push_back(row);
    }
  }
  for (const RulePoints& rule : rules) {
    for (const BestRow& row : BestOf(rule.points)) {
      json["best"].push_back({{"order", rule.order},
                              {"renaming", rule.renaming},
                              {"n", row.n},
                              {"t", row.t},
                              {"r", row.measured},
                              {"is_first_of_sweep", row.first},
                              {"is_last_of_sweep", row.last},
                              {"mean_latency", RoundedNumber(row.latency)},
                              {"formula", RoundedNumber(row.published)}});
    }
  }
  return json;
}

}  // namespace bfly::control
