// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/core/json_number.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

// Averages the stages over the trials that measured them: under some disciplines all trials do,
// under FIFO only the first.
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

Json FiguresJson(const Measurement& m) {
  Json figures = Json::object();
  std::set<std::string> names;
  for (const Trial& trial : m.trials) {
    for (const auto& [name, value] : trial.figures) names.insert(name);
  }
  for (const std::string& name : names) figures[name] = JsonNumber(m.Over(name).mean);
  return figures;
}

// Returns, for every curve, its saturated point of least load.
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

void AddPacketResults(const Report& report, Json& results) {
  Json series = Json::array();
  for (const Measurement& m : report.series) {
    const Estimate delay = DelayOf(m);
    Json row{{"point", m.point.json()},
             {"offered", m.Over(&Trial::offered).mean},
             {"accepted", m.Over(&Trial::accepted).mean},
             {"mean_delay", delay.mean},
             {"ci95", JsonNumber(delay.HalfWidth(0.95))},
             {"p50", m.Over(&Trial::p50).mean},
             {"p99", m.Over(&Trial::p99).mean},
             {"saturated", m.saturated},
             {"growth", GrowthOf(m).mean},
             {"growth_ci95", JsonNumber(GrowthOf(m).HalfWidth(0.95))},
             {"trials", m.trials.size()},
             {"stages", StagesOf(m)},
             {"figures", FiguresJson(m)}};
    // The lateness of the workers on the wall clock.
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
    saturation.push_back({{"point", m->point.json()},
                          {"offered", m->Over(&Trial::offered).mean},
                          {"accepted", m->Over(&Trial::accepted).mean}});
  }
  results["series"] = std::move(series);
  results["saturation"] = std::move(saturation);
}

std::string PacketCsv(const Report& report, bool patterns) {
  const bool names_network = !report.series.empty() && PointOf(report.series[0]).names_network;
  std::string csv =
      absl::StrCat(patterns ? "d,pattern,load" : "d,p,rho", ",slot,lambda,discipline",
                   names_network ? ",network,multiplicity,extra_stages,faulty_switches" : "",
                   ",offered,accepted,mean_delay,ci95,p50,p99,saturated,trials\n");
  for (const Measurement& m : report.series) {
    const Estimate delay = DelayOf(m);
    const double half = delay.HalfWidth(0.95);
    absl::StrAppendFormat(&csv, "%s,%.9g,%.9g,%.9g,%s,%.9g,%.9g,%s,%d\n", m.point.csv(),
                          m.Over(&Trial::offered).mean, m.Over(&Trial::accepted).mean, delay.mean,
                          std::isfinite(half) ? absl::StrFormat("%.9g", half) : "",
                          m.Over(&Trial::p50).mean, m.Over(&Trial::p99).mean,
                          m.saturated ? "true" : "false", m.trials.size());
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
                          m->point.ToString(), m->Over(&Trial::offered).mean,
                          m->Over(&Trial::accepted).mean);
  }
  return table;
}

std::string LatenessTable(const Report& report) {
  std::string table;
  for (const Measurement& m : report.series) {
    const double mean = m.Over("late_mean_us").mean;
    if (!std::isfinite(mean)) continue;
    absl::StrAppendFormat(
        &table, "%s: workers fell behind by %.3g us in the mean, %.3g us at p99, %.3g us at most\n",
        m.point.ToString(), mean, m.Over("late_p99_us").mean, m.Over("late_max_us").mean);
  }
  return table;
}

}  // namespace bfly::control
