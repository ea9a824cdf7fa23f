// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/experiment/journal.h"
#include "control/experiment/plot.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Point& point) {
  return Json{{"d", point.d},
              {"p", point.p},
              {"rho", point.rho},
              {"slot", point.slot},
              {"lambda", point.lambda()},
              {"discipline", DisciplineName(point.discipline)}};
}

// JSON has no infinity: an interval that is not known is null.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double P50(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.p50; }).mean;
}
double P99(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.p99; }).mean;
}

}  // namespace

int Report::Count(Verdict verdict) const {
  return static_cast<int>(std::count_if(
      claims.begin(), claims.end(), [&](const ClaimResult& c) { return c.verdict == verdict; }));
}

std::string ResultsJson(const Report& report) {
  Json claims = Json::array();
  for (const ClaimResult& c : report.claims) {
    Json row{{"id", c.id},
             {"statement", c.statement},
             {"source", c.source},
             {"point", ToJson(c.point)},
             {"theory", c.theory},
             {"measured", c.measured},
             {"ci95", Number(c.ci95)},
             {"trials", c.trials},
             {"verdict", std::string(VerdictName(c.verdict))}};
    if (!c.reason.empty()) row["reason"] = c.reason;
    claims.push_back(std::move(row));
  }
  Json series = Json::array();
  for (const Measurement& m : report.series) {
    const Estimate delay = m.delay();
    series.push_back(Json{{"point", ToJson(m.point)},
                          {"offered", m.offered()},
                          {"accepted", m.accepted()},
                          {"mean_delay", delay.mean},
                          {"ci95", Number(delay.HalfWidth(0.95))},
                          {"p50", P50(m)},
                          {"p99", P99(m)},
                          {"saturated", m.saturated()},
                          {"trials", m.trials.size()}});
  }
  return Json{{"name", report.experiment.name()},
              {"complete", report.complete},
              {"claims", claims},
              {"series", series}}
             .dump(2) +
         "\n";
}

std::string ResultsCsv(const Report& report) {
  std::string csv =
      "d,p,rho,slot,lambda,discipline,offered,accepted,mean_delay,ci95,p50,p99,saturated,trials\n";
  for (const Measurement& m : report.series) {
    const Estimate delay = m.delay();
    absl::StrAppend(
        &csv, absl::StrFormat("%d,%.9g,%.9g,%.9g,%.9g,%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%d\n",
                              m.point.d, m.point.p, m.point.rho, m.point.slot, m.point.lambda(),
                              DisciplineName(m.point.discipline), m.offered(), m.accepted(),
                              delay.mean, delay.HalfWidth(0.95), P50(m), P99(m),
                              m.saturated() ? "true" : "false", m.trials.size()));
  }
  return csv;
}

std::string ClaimTable(const Report& report, bool all) {
  std::vector<const ClaimResult*> rows;
  for (const ClaimResult& c : report.claims) {
    if (all || c.verdict != Verdict::kNotApplicable) rows.push_back(&c);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ClaimResult* a, const ClaimResult* b) {
    const auto rank = [](Verdict v) {
      return v == Verdict::kFail ? 0 : v == Verdict::kPass ? 1 : 2;
    };
    return rank(a->verdict) < rank(b->verdict);
  });
  std::string table = absl::StrFormat("%-22s %-26s %11s %11s %10s %6s  %s\n", "claim", "point",
                                      "theory", "measured", "+-95%", "trials", "verdict");
  for (const ClaimResult* c : rows) {
    if (c->verdict == Verdict::kNotApplicable) {
      absl::StrAppend(&table,
                      absl::StrFormat("%-22s %-26s %11s %11s %10s %6d  NOT APPLICABLE: %s\n", c->id,
                                      c->point.ToString(), "-", "-", "-", c->trials, c->reason));
    } else {
      absl::StrAppend(&table, absl::StrFormat("%-22s %-26s %11.5g %11.5g %10.2g %6d  %s\n", c->id,
                                              c->point.ToString(), c->theory, c->measured, c->ci95,
                                              c->trials, std::string(VerdictName(c->verdict))));
    }
  }
  return table;
}

absl::Status WriteReport(const Report& report, const std::string& folder) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"results.json", ResultsJson(report)},
        {"results.csv", ResultsCsv(report)},
        {"claims.txt", ClaimTable(report)}}) {
    if (absl::Status status = WriteFile(absl::StrCat(folder, "/", name), text); !status.ok()) {
      return status;
    }
  }
  return DrawDelay(report, folder);
}

}  // namespace bfly::control
