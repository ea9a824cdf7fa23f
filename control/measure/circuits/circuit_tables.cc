// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/measure/circuits/circuit_comparison.h"
#include "control/measure/circuits/circuit_fits.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/core/figure_rows.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

// One claim at the points of one curve.
struct ClaimRow {
  std::string id;
  std::string curve;
  std::vector<const ClaimResult*> points;

  int Count(Verdict verdict) const {
    return static_cast<int>(std::count_if(points.begin(), points.end(), [&](const auto* point) {
      return point->verdict == verdict;
    }));
  }
  // "8 PASS" or "7 PASS, 1 FAIL": what the points that the claim applies to got.
  std::string Verdicts() const {
    std::string text;
    for (const Verdict verdict : kVerdicts) {
      const int count = Count(verdict);
      if (count == 0 || verdict == Verdict::kNotApplicable) continue;
      absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", VerdictName(verdict));
    }
    return text;
  }
};

std::vector<ClaimRow> RowsOf(const Report& report) {
  std::vector<ClaimRow> rows;
  std::map<std::pair<std::string, std::string>, size_t> place;
  for (const ClaimResult& claim : report.claims) {
    const std::string curve = claim.point.Curve();
    const auto [at, is_new] = place.try_emplace({claim.id, curve}, rows.size());
    if (is_new) rows.push_back({claim.id, curve, {}});
    rows[at->second].points.push_back(&claim);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClaimRow& a, const ClaimRow& b) {
    return (a.Count(Verdict::kFail) > 0) > (b.Count(Verdict::kFail) > 0);
  });
  return rows;
}

// How far the measured value is on the right side, as a part of theory.
double RoomOf(const ClaimResult& claim) {
  const double scale = claim.theory == 0 ? 1 : std::fabs(claim.theory);
  const double below = (claim.theory - claim.measured) / scale;
  if (claim.relation == Relation::kEqual) return -std::fabs(below);
  return claim.relation == Relation::kAtMost ? below : -below;
}

// Of the points the claim applies to: a failure before all others, then the least room.
const ClaimResult* Closest(const ClaimRow& row) {
  const ClaimResult* closest = nullptr;
  const auto rank = [](const ClaimResult* c) {
    return std::pair(c->verdict != Verdict::kFail, RoomOf(*c));
  };
  for (const ClaimResult* point : row.points) {
    if (point->verdict == Verdict::kNotApplicable) continue;
    if (closest == nullptr || rank(point) < rank(closest)) closest = point;
  }
  return closest;
}

std::string WhyNot(const ClaimRow& row) {
  const ClaimResult *first = nullptr, *last = nullptr;
  for (const ClaimResult* point : row.points) {
    if (point->verdict != Verdict::kNotApplicable) continue;
    if (first == nullptr) first = point;
    last = point;
  }
  if (first->reason == last->reason) return first->reason;
  return absl::StrFormat("%s (d=%d) .. %s (d=%d)", first->reason, first->point.d(), last->reason,
                         last->point.d());
}

struct SetUpSeconds {
  double median = 0;
  double least = 0;
  double most = 0;
};

SetUpSeconds SecondsOf(const Measurement& measurement) {
  std::vector<double> seconds;
  for (const Trial& trial : measurement.trials) seconds.push_back(trial.set_up_seconds);
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

}  // namespace

std::string CircuitClaimTable(const Report& report, bool all) {
  const std::vector<ClaimRow> rows = RowsOf(report);
  size_t id_width = 24, width = 16;
  for (const ClaimRow& row : rows) {
    id_width = std::max(id_width, row.id.size());
    width = std::max(width, row.curve.size());
  }
  const int i = static_cast<int>(id_width), w = static_cast<int>(width);
  std::string table = absl::StrFormat("%-*s %-*s %-14s  %s\n", i, "claim", w, "protocol",
                                      "verdicts", "closest: d, measured [interval], theory");
  std::string not_applicable;
  for (const ClaimRow& row : rows) {
    if (const ClaimResult* closest = Closest(row)) {
      const std::string interval =
          closest->error > 0 ? absl::StrCat(" ", IntervalText(*closest)) : "";
      const char* relation = closest->relation == Relation::kEqual    ? "="
                             : closest->relation == Relation::kAtMost ? "<="
                                                                      : ">=";
      absl::StrAppendFormat(&table, "%-*s %-*s %-14s  d=%d: %.5g%s %s %.5g\n", i, row.id, w,
                            row.curve, row.Verdicts(), closest->point.d(), closest->measured,
                            interval, relation, closest->theory);
    }
    if (const int points = row.Count(Verdict::kNotApplicable); points > 0) {
      absl::StrAppendFormat(&not_applicable, "%-*s %-*s NOT APPLICABLE at %d of %d points: %s\n", i,
                            row.id, w, row.curve, points, row.points.size(), WhyNot(row));
    }
  }
  absl::StrAppend(&table, "\n", FamilyText(report.family));
  if (!all) return table;
  if (!not_applicable.empty()) absl::StrAppend(&table, "\n", not_applicable);
  if (!report.claims_elsewhere.empty()) {
    absl::StrAppend(
        &table, "\nabout no protocol here: ", absl::StrJoin(report.claims_elsewhere, ", "), "\n");
  }
  return table;
}

std::string CircuitTailTable(const Report& report) {
  std::string table, statements;
  std::set<std::string> said;
  size_t width = 24;
  for (const ClaimResult& c : report.claims) {
    if (c.tail) width = std::max(width, c.id.size());
  }
  const int w = static_cast<int>(width);
  for (const ClaimResult& c : report.claims) {
    if (!c.tail) continue;
    if (said.insert(c.id).second) {
      absl::StrAppend(&statements, c.id, ": ", c.statement, " (", c.source, ")\n");
    }
    const bool vacuous = c.theory >= 1;
    absl::StrAppendFormat(
        &table, "%-*s %3d %-26s %4d/%-4d %8.4f  [%.4f, %.4f]  %10s  %s\n", w, c.id, c.point.d(),
        c.tail->event, c.tail->hits, c.trials, c.measured, c.low, c.high,
        vacuous ? "-" : absl::StrFormat("%.4g", c.theory),
        absl::StrCat(VerdictName(c.verdict), c.reason.empty() ? "" : ": ", c.reason));
  }
  if (table.empty()) return "";
  return absl::StrCat(
      statements, "\n",
      absl::StrFormat("%-*s %3s %-26s %9s %8s  %-16s  %10s  %s\n", w, "tail", "d", "event",
                      "trials", "measured", "interval", "bound", "verdict"),
      table);
}

std::string CircuitComparisonTable(const Report& report) {
  const std::vector<SeedComparison> comparisons = CompareBySeed(report.series);
  if (comparisons.empty()) return "";
  std::string table =
      absl::StrFormat("%-64s %3s %6s %6s %6s %16s\n", "on the same seed (measured, no claim)", "d",
                      "less", "equal", "more", "less by +-95%");
  for (const SeedComparison& c : comparisons) {
    const double half = c.difference.HalfWidth(0.95);
    absl::StrAppendFormat(&table, "%-64s %3d %6d %6d %6d %8.3g%s\n",
                          absl::StrCat(c.figure, ": ", c.first, " against ", c.second), c.d, c.less,
                          c.equal, c.more, c.difference.mean,
                          std::isfinite(half) ? absl::StrFormat(" +- %.2g", half) : "");
  }
  return table;
}

Json CircuitComparisonsJson(const Report& report) {
  Json comparisons = Json::array();
  for (const SeedComparison& c : CompareBySeed(report.series)) {
    comparisons.push_back(Json{{"figure", c.figure},
                               {"first", c.first},
                               {"second", c.second},
                               {"d", c.d},
                               {"less", c.less},
                               {"equal", c.equal},
                               {"more", c.more},
                               {"mean_difference", RoundedNumber(c.difference.mean)},
                               {"ci95", RoundedNumber(c.difference.HalfWidth(0.95))}});
  }
  return comparisons;
}

Json CircuitFitsJson(const Report& report) {
  Json fits = Json::array();
  for (const CurveFit& curve : FitCurves(report.series)) {
    for (const GrowthFit& fit : curve.fits) {
      fits.push_back(Json{{"curve", curve.curve},
                          {"figure", curve.figure},
                          {"shape", fit.shape},
                          {"intercept", fit.intercept},
                          {"slope", fit.slope},
                          {"r_squared", RoundedNumber(fit.r_squared)},
                          {"sizes", fit.sizes},
                          {"stated", fit.shape == curve.stated}});
    }
  }
  return fits;
}

std::string CircuitSecondsCsv(const Report& report) {
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

std::string CircuitSecondsTable(const Report& report) {
  std::vector<std::string> curves;
  std::set<int> sizes;
  std::map<std::pair<std::string, int>, double> medians;
  for (const Measurement& m : report.series) {
    const std::string curve = m.point.Curve();
    if (std::find(curves.begin(), curves.end(), curve) == curves.end()) curves.push_back(curve);
    sizes.insert(m.point.d());
    medians[{curve, m.point.d()}] = SecondsOf(m).median;
  }
  std::string table = absl::StrFormat("%-32s", "seconds to choose all paths*  d:");
  for (const int d : sizes) absl::StrAppendFormat(&table, " %9d", d);
  for (const std::string& curve : curves) {
    absl::StrAppendFormat(&table, "\n%-32s", curve);
    for (const int d : sizes) {
      const auto median = medians.find({curve, d});
      absl::StrAppend(&table, median == medians.end() ? std::string(10, ' ')
                                                      : absl::StrFormat(" %9.3g", median->second));
    }
  }
  return absl::StrCat(table,
                      "\n* medians, measured on this machine with what else it did; no claim\n");
}

std::string CircuitFitTable(const Report& report) {
  const std::vector<CurveFit> fits = FitCurves(report.series);
  if (fits.empty()) return "";
  std::string table =
      absl::StrFormat("%-32s %-16s %-31s %10s %10s %8s %6s\n", "growth of", "figure",
                      "shape (*: stated by theory)", "intercept", "slope", "R^2", "sizes");
  for (const CurveFit& curve : fits) {
    for (const GrowthFit& fit : curve.fits) {
      const bool stated = fit.shape == curve.stated;
      absl::StrAppendFormat(&table, "%-32s %-16s %-31s %10.4g %10.4g %8.4f %6d%s\n", curve.curve,
                            curve.figure, absl::StrCat(fit.shape, stated ? " *" : ""),
                            fit.intercept, fit.slope, fit.r_squared, fit.sizes,
                            stated ? absl::StrCat("  ", curve.source) : "");
    }
  }
  return table;
}

}  // namespace bfly::control
