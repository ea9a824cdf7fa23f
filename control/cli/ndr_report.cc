// SPDX-License-Identifier: Apache-2.0
#include "control/cli/ndr_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/text.h"

namespace bfly::control {
namespace {

// Who could not do more, by the trials at the smallest load that was too large.
std::string LimitOf(const SizeReport& report, size_t goal) {
  const GoalResult& result = report.results[goal];
  if (!result.upper) {
    return report.unpaced ? "the sources: the largest load was carried"
                          : "--most: this load was carried";
  }
  uint64_t not_sent = 0, left = 0;
  std::map<std::string, uint64_t> reasons;
  for (const TrialOutcome& outcome : report.trials) {
    if (outcome.trial.load != *result.upper) continue;
    not_sent += outcome.intended - outcome.sent;
    left += outcome.left;
    for (const auto& [reason, frames] : outcome.reasons) reasons[reason] += frames;
  }
  reasons["not sent in time"] += not_sent;
  reasons["not delivered in time"] += left;
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  if (most->first == "not sent in time") return "the workers: frames were not sent in time";
  return absl::StrCat("the fabric: ", most->first);
}

nlohmann::ordered_json BoundJson(const std::optional<double>& bound) {
  return bound ? nlohmann::ordered_json(*bound) : nlohmann::ordered_json();
}

nlohmann::ordered_json LatencyJson(const v1::LatencySummary& latency) {
  return {{"frames", latency.count()}, {"mean_ns", latency.mean()}, {"p50_ns", latency.p50()},
          {"p90_ns", latency.p90()},   {"p99_ns", latency.p99()},   {"p999_ns", latency.p999()},
          {"max_ns", latency.max()}};
}

nlohmann::ordered_json TrialJson(const TrialOutcome& outcome) {
  nlohmann::ordered_json out = {{"load", outcome.trial.load},
                                {"duration", outcome.trial.duration},
                                {"loss_ratio", outcome.trial.loss_ratio},
                                {"intended", outcome.intended},
                                {"sent", outcome.sent},
                                {"dropped", outcome.dropped},
                                {"left", outcome.left},
                                {"others", outcome.others}};
  for (const auto& [reason, frames] : outcome.reasons) out["reasons"][reason] = frames;
  return out;
}

}  // namespace

nlohmann::ordered_json SizeJson(const SizeReport& report) {
  nlohmann::ordered_json out = {
      {"bytes", report.mix.name},    {"mean_bytes", report.mix.mean_bytes()},
      {"senders", report.senders},   {"unpaced_load", BoundJson(report.unpaced)},
      {"min_load", report.min_load}, {"max_load", report.max_load}};
  for (size_t i = 0; i < report.goals.size(); ++i) {
    const SearchGoal& goal = report.goals[i];
    const GoalResult& result = report.results[i];
    out["goals"].push_back({{"name", goal.name},
                            {"loss_ratio", goal.loss_ratio},
                            {"exceed_ratio", goal.exceed_ratio},
                            {"initial_duration", goal.initial_duration},
                            {"final_duration", goal.final_duration},
                            {"duration_sum", goal.duration_sum},
                            {"width", goal.width},
                            {"regular", result.is_regular()},
                            {"relevant_lower_bound", BoundJson(result.lower)},
                            {"relevant_upper_bound", BoundJson(result.upper)},
                            {"conditional_throughput", result.throughput},
                            {"fabric_throughput", result.throughput * report.senders},
                            {"limit", LimitOf(report, i)}});
  }
  out["latency"] = nlohmann::ordered_json::array();
  for (const SizeReport::AtLoad& at : report.latencies) {
    nlohmann::ordered_json latency = LatencyJson(at.outcome.latency);
    latency["part_of_ndr"] = at.part;
    latency["intended"] = at.outcome.intended;
    latency["others"] = at.outcome.others;
    latency["loss_ratio"] = at.outcome.trial.loss_ratio;
    out["latency"].push_back(std::move(latency));
  }
  for (const TrialOutcome& outcome : report.trials) out["trials"].push_back(TrialJson(outcome));
  return out;
}

std::string HistogramCsv(const std::vector<SizeReport>& reports) {
  std::string csv =
      "frame_bytes,part_of_ndr,frames_per_second_of_a_row,latency_up_to_ns,frames,part_up_to_"
      "here\n";
  for (const SizeReport& report : reports) {
    for (const SizeReport::AtLoad& at : report.latencies) {
      // The fabric records the latencies of all frames, whoever sent them.
      const auto all = static_cast<double>(at.outcome.intended + at.outcome.others);
      uint64_t seen = 0;
      for (const v1::LatencyBucket& bucket : at.outcome.histogram) {
        seen += bucket.packets();
        absl::StrAppendFormat(&csv, "%s,%g,%.1f,%.1f,%d,%.9f\n", report.mix.name, at.part,
                              at.outcome.trial.load, bucket.up_to(), bucket.packets(),
                              static_cast<double>(seen) / all);
      }
    }
  }
  return csv;
}

void PrintSize(const SizeReport& report, const std::string& traffic) {
  printf("%s, %u rows send to %s, %zu trials\n",
         report.mix.name == "imix" ? "IMIX" : absl::StrCat(report.mix.name, " bytes").c_str(),
         report.senders, traffic.c_str(), report.trials.size());
  for (size_t i = 0; i < report.goals.size(); ++i) {
    const SearchGoal& goal = report.goals[i];
    const GoalResult& result = report.results[i];
    if (!result.lower) {
      printf("  %s  none: %s frames/s a row are too many\n", goal.name.c_str(),
             Count(*result.upper).c_str());
      continue;
    }
    const double fabric = result.throughput * report.senders;
    printf("  %s  %s frames/s a row, %s frames/s and %sbit/s in all, loss at most %g %%%s\n",
           goal.name.c_str(), Count(result.throughput).c_str(), Count(fabric).c_str(),
           Count(fabric * report.mix.mean_bytes() * 8).c_str(), 100 * goal.loss_ratio,
           result.upper ? "" : "; it may be more");
    printf("       limit: %s\n", LimitOf(report, i).c_str());
  }
  uint64_t others = 0;
  for (const TrialOutcome& outcome : report.trials) others += outcome.others;
  if (others > 0) {
    printf("  %s frames of others crossed the fabric meanwhile; their drops count as losses\n",
           Count(static_cast<double>(others)).c_str());
  }
  for (const SizeReport::AtLoad& at : report.latencies) {
    const v1::LatencySummary& latency = at.outcome.latency;
    printf(
        "  latency at %2.0f %% of NDR, %s frames: mean %.1f us, p50 %.1f us, p90 %.1f us, p99 "
        "%.1f us, p99.9 %.1f us, most %.0f us; %g %% lost%s\n",
        100 * at.part, Count(static_cast<double>(latency.count())).c_str(), latency.mean() / 1e3,
        latency.p50() / 1e3, latency.p90() / 1e3, latency.p99() / 1e3, latency.p999() / 1e3,
        latency.max() / 1e3, 100 * at.outcome.trial.loss_ratio,
        at.outcome.others == 0
            ? ""
            : absl::StrCat("; with ", Count(static_cast<double>(at.outcome.others)),
                           " frames of others")
                  .c_str());
  }
}

}  // namespace bfly::control
