// SPDX-License-Identifier: Apache-2.0
#include "control/cli/ndr_search.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "control/cli/text.h"
#include "control/throughput/mlr_search.h"

namespace bfly::control {
namespace {

constexpr double kWarmUpSeconds = 0.5;
// The largest load is so much more than what unpaced sources send.
constexpr double kRoomAbove = 1.25;
// Frames of the shortest trial at the smallest load, of each sending row.
constexpr double kFewestFrames = 10;
constexpr double kLatencyLoads[] = {0.1, 0.5, 0.9};  // of the NDR

std::vector<SearchGoal> GoalsOf(const NdrOptions& options) {
  SearchGoal ndr{.name = "NDR",
                 .exceed_ratio = options.exceed_ratio,
                 .final_duration = options.final_duration,
                 .duration_sum = std::max(options.duration_sum, options.final_duration),
                 .initial_duration = options.initial_duration,
                 .width = options.width};
  SearchGoal pdr = ndr;
  pdr.name = "PDR";
  pdr.loss_ratio = options.loss_ratio;
  return {ndr, pdr};
}

void PrintTrial(const TrialOutcome& outcome, const std::string& what) {
  fprintf(stderr, "  %-8s %s frames/s a row for %g s: %.4f %% lost\n", what.c_str(),
          Count(outcome.trial.load).c_str(), outcome.trial.duration,
          100 * outcome.trial.loss_ratio);
}

}  // namespace

absl::StatusOr<SizeReport> SearchSize(const NdrOptions& options, const TrafficProfile& profile,
                                      const Common& common) {
  FabricTrials trials(common, profile);
  if (absl::Status status = trials.CheckAlone(); !status.ok()) return status;
  SizeReport report{.mix = profile.mix, .senders = profile.senders, .goals = GoalsOf(options)};
  // Unpaced sources may fill queues that take minutes to empty.
  if (options.most > 0) {
    report.max_load = options.most;
  } else {
    const absl::StatusOr<double> unpaced = trials.UnpacedLoad(kWarmUpSeconds);
    if (!unpaced.ok()) return unpaced.status();
    report.unpaced = *unpaced;
    report.max_load = kRoomAbove * *unpaced;
  }
  report.min_load =
      std::min(report.max_load, kFewestFrames / report.goals.front().initial_duration);
  if (absl::Status status = ThroughputSearch::Check(report.goals, report.min_load, report.max_load);
      !status.ok()) {
    return status;
  }
  ThroughputSearch search(report.goals, report.min_load, report.max_load);
  const uint64_t most = MostTrials(report.goals);
  while (const auto next = search.Next()) {
    if (report.trials.size() == most) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the search is not over after ", most, " trials, ", search.TrialsAt(next->load).size(),
          " of them at ", Count(next->load),
          " frames/s a row: trials at the same load contradict each other; is the machine busy?"));
    }
    const auto outcome = trials.Run(next->load, next->duration);
    if (!outcome.ok()) return outcome.status();
    if (!common.json) PrintTrial(*outcome, report.goals[next->goal].name);
    search.Add(outcome->trial);
    report.trials.push_back(*outcome);
  }
  for (size_t goal = 0; goal < report.goals.size(); ++goal)
    report.results.push_back(search.Result(goal));
  const GoalResult& ndr = report.results.front();
  if (!ndr.lower) return report;
  for (const double part : kLatencyLoads) {
    const auto outcome = trials.Run(part * *ndr.lower, options.final_duration, true);
    if (!outcome.ok()) return outcome.status();
    report.latencies.push_back({part, *outcome});
  }
  return report;
}

absl::Status CheckRegular(const std::vector<SizeReport>& reports) {
  bool too_small = false, too_large = false;
  for (const SizeReport& report : reports) {
    for (const GoalResult& result : report.results) {
      // A --most below the smallest load that trials allow is the only load.
      const bool most_is_all = report.min_load == report.max_load;
      too_small |= !result.upper || (!result.lower && most_is_all);
      too_large |= !result.lower && !most_is_all;
    }
  }
  if (!too_small && !too_large) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "a throughput was not found between the smallest and the largest load: the report says which",
      too_small ? "; --most sets the largest" : "",
      too_large ? absl::StrCat("; --initial-duration sets the smallest, at which a row sends ",
                               kFewestFrames, " frames in it")
                : ""));
}

}  // namespace bfly::control
