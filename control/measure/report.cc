// SPDX-License-Identifier: Apache-2.0
#include "control/measure/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/claim_rows.h"
#include "control/measure/journal.h"
#include "control/measure/json_number.h"
#include "control/measure/packet_claims.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

double P50(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.p50; }).mean;
}
double P99(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.p99; }).mean;
}

// Over the trials that measured the stages: all of some disciplines, the first one of FIFO.
Json StagesOf(const Measurement& m) {
  Json stages = Json::array();
  std::vector<const Trial*> trials;
  for (const Trial& t : m.trials) {
    if (!t.stages.empty()) trials.push_back(&t);
  }
  if (trials.empty()) return stages;
  for (size_t s = 0; s < trials[0]->stages.size(); ++s) {
    StageTime sum;
    for (const Trial* t : trials) {
      sum.mean += t->stages[s].mean;
      sum.p50 += t->stages[s].p50;
      sum.p99 += t->stages[s].p99;
    }
    const auto n = static_cast<double>(trials.size());
    stages.push_back(
        {{"stage", s}, {"mean", sum.mean / n}, {"p50", sum.p50 / n}, {"p99", sum.p99 / n}});
  }
  return stages;
}

Json FiguresOf(const Measurement& m) {
  Json figures = Json::object();
  if (m.trials.empty()) return figures;
  for (const auto& [name, value] : m.trials[0].figures) {
    figures[name] = JsonNumber(m.Over(name).mean);
  }
  return figures;
}

// Of every curve the saturated point of least load.
std::vector<const Measurement*> Saturation(const Report& report) {
  std::map<std::string, const Measurement*> least;
  std::vector<std::string> order;
  for (const Measurement& m : report.series) {
    if (!m.saturated) continue;
    const Measurement*& known = least[m.point.Curve()];
    if (known == nullptr) order.push_back(m.point.Curve());
    if (known == nullptr || PointOf(m).swept_load() < PointOf(*known).swept_load()) known = &m;
  }
  std::vector<const Measurement*> found;
  for (const std::string& curve : order) found.push_back(least[curve]);
  return found;
}

}  // namespace

int Report::Count(Verdict verdict) const { return CountVerdicts(claims, verdict); }

std::string ResultsJson(const Report& report) {
  Json series = Json::array();
  for (const Measurement& m : report.series) {
    const Estimate delay = DelayOf(m);
    Json row{{"point", m.point.json()},
             {"offered", OfferedOf(m)},
             {"accepted", AcceptedOf(m)},
             {"mean_delay", delay.mean},
             {"ci95", JsonNumber(delay.HalfWidth(0.95))},
             {"p50", P50(m)},
             {"p99", P99(m)},
             {"saturated", m.saturated},
             {"growth", GrowthOf(m).mean},
             {"growth_ci95", JsonNumber(GrowthOf(m).HalfWidth(0.95))},
             {"trials", m.trials.size()},
             {"stages", StagesOf(m)},
             {"figures", FiguresOf(m)}};
    // How far behind real workers fell, where there were any.
    if (const Estimate late = m.Over("late_mean_us"); std::isfinite(late.mean)) {
      row["delivered_delay"] = m.Over("delivered_delay").mean;
      row["links_delay"] = JsonNumber(m.Over("links_delay").mean);
      row["late_us"] = Json{{"mean", late.mean},
                            {"p99", m.Over("late_p99_us").mean},
                            {"max", m.Over("late_max_us").mean}};
    }
    series.push_back(std::move(row));
  }
  Json saturation = Json::array();
  for (const Measurement* m : Saturation(report)) {
    saturation.push_back(
        {{"point", m->point.json()}, {"offered", OfferedOf(*m)}, {"accepted", AcceptedOf(*m)}});
  }
  return Json{{"name", report.experiment.name()},
              {"measured", report.complete},
              {"complete", false},
              {"verdicts", VerdictsJson(report.claims)},
              {"family", FamilyJson(report.family)},
              {"claims", ClaimsJson(report.claims)},
              {"series", series},
              {"saturation", saturation}}
             .dump(2) +
         "\n";
}

std::string ResultsCsv(const Report& report) {
  const bool patterns = !report.experiment.pattern().empty();
  std::string csv = absl::StrCat(
      patterns ? "d,pattern,load" : "d,p,rho",
      ",slot,lambda,discipline,offered,accepted,mean_delay,ci95,p50,p99,saturated,trials\n");
  for (const Measurement& m : report.series) {
    const Estimate delay = DelayOf(m);
    const PacketPoint& point = m.point;
    absl::StrAppend(&csv, point.d, ",",
                    patterns ? point.pattern : absl::StrFormat("%.9g", point.p));
    for (const double value : {point.swept_load(), point.slot, point.lambda()}) {
      absl::StrAppendFormat(&csv, ",%.9g", value);
    }
    absl::StrAppend(&csv, ",", DisciplineName(point.discipline));
    for (const double value :
         {OfferedOf(m), AcceptedOf(m), delay.mean, delay.HalfWidth(0.95), P50(m), P99(m)}) {
      absl::StrAppendFormat(&csv, ",%.9g", value);
    }
    absl::StrAppend(&csv, ",", m.saturated ? "true" : "false", ",", m.trials.size(), "\n");
  }
  return csv;
}

std::string ClaimTable(const Report& report, bool all) {
  return absl::StrCat(ClaimRows(report.claims, all), "\n", FamilyText(report.family));
}

std::string SaturationTable(const Report& report) {
  std::string table;
  for (const Measurement* m : Saturation(report)) {
    absl::StrAppendFormat(&table, "saturated from %s on: offered %.4g, accepted %.4g\n",
                          m->point.ToString(), OfferedOf(*m), AcceptedOf(*m));
  }
  return table;
}

absl::Status WriteReport(const Report& report, const std::string& folder) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"results.json", ResultsJson(report)},
        {"results.csv", ResultsCsv(report)},
        {"claims.txt", ClaimTable(report) + "\n" + SaturationTable(report)}}) {
    if (absl::Status status = WriteFile(absl::StrCat(folder, "/", name), text); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
