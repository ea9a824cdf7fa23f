// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/curve_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/measure/core/claim_rows.h"

namespace bfly::control {
namespace {

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
  // The verdicts at the points that the claim applies to: "8 PASS" or "7 PASS, 1 FAIL".
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

// Among the points that the claim applies to: the one that comes first by IsCloser.
const ClaimResult* Closest(const ClaimRow& row) {
  const ClaimResult* closest = nullptr;
  for (const ClaimResult* point : row.points) {
    if (point->verdict == Verdict::kNotApplicable) continue;
    if (closest == nullptr || IsCloser(*point, *closest)) closest = point;
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

}  // namespace

std::string ClaimsByCurve(const Report& report, const std::string& subject, bool all) {
  const std::vector<ClaimRow> rows = RowsOf(report);
  size_t id_width = 24, width = 16;
  for (const ClaimRow& row : rows) {
    id_width = std::max(id_width, row.id.size());
    width = std::max(width, row.curve.size());
  }
  const int i = static_cast<int>(id_width), w = static_cast<int>(width);
  std::string table = absl::StrFormat("%-*s %-*s %-14s  %s\n", i, "claim", w, subject, "verdicts",
                                      "closest: d, measured [interval], theory");
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
    absl::StrAppend(&table, "\nabout no ", subject,
                    " here: ", absl::StrJoin(report.claims_elsewhere, ", "), "\n");
  }
  return table;
}

std::string TailTable(const Report& report) {
  std::string table, statements;
  std::set<std::string> said;
  size_t id_width = 24, width = 16;
  for (const ClaimResult& c : report.claims) {
    if (!c.tail) continue;
    id_width = std::max(id_width, c.id.size());
    width = std::max(width, c.point.Curve().size());
  }
  const int i = static_cast<int>(id_width), w = static_cast<int>(width);
  for (const ClaimResult& c : report.claims) {
    if (!c.tail) continue;
    if (said.insert(c.id).second) {
      absl::StrAppend(&statements, c.id, ": ", c.statement, " (", c.source, ")\n");
    }
    const bool vacuous = c.theory >= 1;
    absl::StrAppendFormat(
        &table, "%-*s %-*s %3d %-26s %4d/%-4d %8.4f  [%.4f, %.4f]  %10s  %s\n", i, c.id, w,
        c.point.Curve(), c.point.d(), c.tail->event, c.tail->hits, c.trials, c.measured, c.low,
        c.high, vacuous ? "-" : absl::StrFormat("%.4g", c.theory),
        absl::StrCat(VerdictName(c.verdict), c.reason.empty() ? "" : ": ", c.reason));
  }
  if (table.empty()) return "";
  return absl::StrCat(
      statements, "\n",
      absl::StrFormat("%-*s %-*s %3s %-26s %9s %8s  %-16s  %10s  %s\n", i, "tail", w, "curve", "d",
                      "event", "trials", "measured", "interval", "bound", "verdict"),
      table);
}

}  // namespace bfly::control
