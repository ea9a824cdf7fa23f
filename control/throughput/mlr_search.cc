// SPDX-License-Identifier: Apache-2.0
#include "control/throughput/mlr_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// RFC 9971 says how trials classify a load, and leaves it to the program which trial is next. No
// number below is from the RFC: all of them were chosen here.

// From phase to phase trials get longer and results narrower by these factors.
constexpr double kLonger = 10;
constexpr double kNarrower = 2;
constexpr size_t kMostPhases = 3;
// How much longer the next trial at an undecided load is.
constexpr double kTrialGrowth = 4;
// Searches that come to an end need fewer loads by far, each with its trials of full length.
constexpr uint64_t kMostLoads = 300;
// No step outwards is larger than this part of the load.
constexpr double kLargestStep = 0.5;

// Sums of durations that differ by less than this part are taken for equal: 0.1 + 0.1 + 0.1 is not
// 0.3.
constexpr double kRounding = 1e-9;

// Sums of durations, in seconds.
struct TrialSums {
  double full_low = 0, full_high = 0, short_low = 0, short_high = 0;
};

TrialSums SumsOf(const SearchGoal& goal, absl::Span<const TrialResult> trials) {
  TrialSums sums;
  for (const TrialResult& trial : trials) {
    const bool is_full = trial.duration >= goal.final_duration;
    const bool is_low = trial.loss_ratio <= goal.loss_ratio;
    (is_full ? (is_low ? sums.full_low : sums.full_high)
             : (is_low ? sums.short_low : sums.short_high)) += trial.duration;
  }
  return sums;
}

absl::Status CheckGoal(const SearchGoal& goal) {
  const auto wrong = [&goal](const char* what, double value, const char* right) {
    return absl::InvalidArgumentError(
        absl::StrCat("goal ", goal.name, ": ", what, " is ", value, "; ", right));
  };
  if (!(goal.loss_ratio >= 0 && goal.loss_ratio < 1))
    return wrong("the loss ratio", goal.loss_ratio, "it is at least 0 and less than 1");
  if (!(goal.exceed_ratio >= 0 && goal.exceed_ratio < 1))
    return wrong("the exceed ratio", goal.exceed_ratio, "it is at least 0 and less than 1");
  if (!(goal.initial_duration > 0))
    return wrong("the initial trial duration", goal.initial_duration, "it is more than 0 s");
  if (!(goal.final_duration >= goal.initial_duration)) {
    return wrong("the final trial duration", goal.final_duration,
                 "it is not below the initial trial duration");
  }
  if (!(goal.duration_sum >= goal.final_duration)) {
    return wrong("the duration sum", goal.duration_sum, "it is not below the final trial duration");
  }
  if (!(goal.width > 0 && goal.width < 1))
    return wrong("the width", goal.width, "it is more than 0 and less than 1");
  return absl::OkStatus();
}

}  // namespace

LoadClass Classify(const SearchGoal& goal, absl::Span<const TrialResult> trials) {
  const TrialSums sums = SumsOf(goal, trials);
  // Short trials with little loss make up for short trials with much, as the exceed ratio says.
  const double balance = sums.short_low * goal.exceed_ratio / (1 - goal.exceed_ratio);
  const double high = sums.full_high + std::max(0.0, sums.short_high - balance);
  const double whole = std::max(sums.full_low + high, goal.duration_sum);
  const double allowed = whole * (goal.exceed_ratio + kRounding);
  if (whole - sums.full_low <= allowed) return LoadClass::kLowerBound;  // whatever else comes
  return high <= allowed ? LoadClass::kUndecided : LoadClass::kUpperBound;
}

double ConditionalThroughput(const SearchGoal& goal, absl::Span<const TrialResult> trials) {
  std::vector<TrialResult> full;
  double full_length = 0;
  for (const TrialResult& trial : trials) {
    if (trial.duration < goal.final_duration) continue;
    full.push_back(trial);
    full_length += trial.duration;
  }
  std::sort(full.begin(), full.end(),
            [](const TrialResult& a, const TrialResult& b) { return a.loss_ratio < b.loss_ratio; });
  const double whole = std::max(goal.duration_sum, full_length);
  const double nothing = whole * kRounding;
  double remaining = whole * (1 - goal.exceed_ratio);
  double loss_ratio = 1;
  for (size_t i = 0; i < full.size() && (i == 0 || remaining > nothing); ++i) {
    loss_ratio = full[i].loss_ratio;
    remaining -= full[i].duration;
  }
  if (remaining > nothing) loss_ratio = 1;
  return trials.front().load * (1 - loss_ratio);
}

uint64_t MostTrials(absl::Span<const SearchGoal> goals) {
  double of_a_load = 1;  // full-length trials
  for (const SearchGoal& goal : goals) {
    const double trials = goal.duration_sum / goal.final_duration;
    of_a_load = std::max(of_a_load, std::ceil(trials * (1 - kRounding)));
  }
  return kMostLoads * static_cast<uint64_t>(of_a_load);
}

absl::Status ThroughputSearch::Check(absl::Span<const SearchGoal> goals, double min_load,
                                     double max_load) {
  if (goals.empty()) return absl::InvalidArgumentError("there is no goal to search for");
  for (const SearchGoal& goal : goals) {
    if (absl::Status status = CheckGoal(goal); !status.ok()) return status;
  }
  if (!(min_load > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the smallest load is ", min_load, " frames a second; it is more than 0"));
  }
  if (!(max_load >= min_load) || std::isinf(max_load)) {
    return absl::InvalidArgumentError(absl::StrCat("the largest load is ", max_load,
                                                   " frames a second and the smallest ", min_load,
                                                   "; the largest is not below the smallest"));
  }
  return absl::OkStatus();
}

ThroughputSearch::ThroughputSearch(std::vector<SearchGoal> goals, double min_load, double max_load)
    : goals_(std::move(goals)), min_load_(min_load), max_load_(max_load) {}

void ThroughputSearch::Add(const TrialResult& trial) { trials_[trial.load].push_back(trial); }

absl::Span<const TrialResult> ThroughputSearch::TrialsAt(double load) const {
  const auto at = trials_.find(load);
  return at == trials_.end() ? absl::Span<const TrialResult>() : absl::MakeConstSpan(at->second);
}

std::vector<SearchGoal> ThroughputSearch::PhasesOf(const SearchGoal& goal) const {
  std::vector<SearchGoal> phases = {goal};
  while (phases.size() < kMostPhases && phases.front().final_duration > goal.initial_duration) {
    SearchGoal phase = phases.front();
    phase.final_duration = std::max(goal.initial_duration, phase.final_duration / kLonger);
    // As many trials as at the end, each of them shorter.
    phase.duration_sum = goal.duration_sum * phase.final_duration / goal.final_duration;
    phase.width = std::min(kLargestStep, phase.width * kNarrower);
    phases.insert(phases.begin(), phase);
  }
  return phases;
}

GoalResult ThroughputSearch::BoundsOf(const SearchGoal& goal) const {
  GoalResult bounds;
  for (const auto& [load, trials] : trials_) {
    const LoadClass is = Classify(goal, trials);
    if (is == LoadClass::kLowerBound) bounds.lower = load;
    if (is == LoadClass::kUpperBound) {
      bounds.upper = load;
      break;  // loads ascend: what is above it does not count
    }
  }
  return bounds;
}

GoalResult ThroughputSearch::Result(size_t goal) const {
  GoalResult result = BoundsOf(goals_[goal]);
  if (result.lower) {
    result.throughput = ConditionalThroughput(goals_[goal], TrialsAt(*result.lower));
  }
  return result;
}

// A load below an upper bound that may be a lower one: what came through at the upper bound, but
// not so near that nothing is learned, and farther with every upper bound that was found on the
// way.
double ThroughputSearch::Below(const SearchGoal& goal, double upper) const {
  double step = 2 * goal.width;
  for (auto above = trials_.upper_bound(upper); above != trials_.end(); ++above) {
    if (Classify(goal, above->second) != LoadClass::kUpperBound) continue;
    step = std::max(step, 2 * (above->first - upper) / above->first);
    break;
  }
  double through = upper * (1 - std::min(step, kLargestStep));
  if (upper == max_load_) {
    double loss = 1;
    for (const TrialResult& trial : TrialsAt(upper)) loss = std::min(loss, trial.loss_ratio);
    through = std::min(through, upper * (1 - loss));
  }
  return std::max(min_load_, through);
}

double ThroughputSearch::Above(const SearchGoal& goal, double lower) const {
  double step = 2 * goal.width;
  for (auto below = trials_.lower_bound(lower); below != trials_.begin();) {
    --below;
    if (Classify(goal, below->second) != LoadClass::kLowerBound) continue;
    step = std::max(step, 2 * (lower - below->first) / lower);
    break;
  }
  return std::min(max_load_, lower * (1 + std::min(step, kLargestStep)));
}

// `before`: the bounds of the phase before; none in the first phase.
std::optional<double> ThroughputSearch::NextLoad(const SearchGoal& goal,
                                                 const GoalResult& before) const {
  const auto [upper, lower, throughput] = BoundsOf(goal);
  if (upper && lower) {
    if (*upper - *lower <= goal.width * *upper) return std::nullopt;
    if (before.lower && *before.lower > *lower && *before.lower < *upper) return before.lower;
    return std::sqrt(*upper * *lower);
  }
  if (upper) {
    if (*upper == min_load_) return std::nullopt;
    if (before.lower && *before.lower < *upper) return before.lower;
    return Below(goal, *upper);
  }
  if (lower) {
    if (*lower == max_load_) return std::nullopt;
    if (before.upper && *before.upper > *lower) return before.upper;
    return Above(goal, *lower);
  }
  // Smaller loads first: bounds found early are then less likely to be overturned.
  if (before.lower) return before.lower;
  return before.upper ? *before.upper : max_load_;
}

double ThroughputSearch::NextDuration(const SearchGoal& goal, double load) const {
  double longest = 0;
  for (const TrialResult& trial : TrialsAt(load)) longest = std::max(longest, trial.duration);
  if (longest == 0) return goal.initial_duration;
  return std::clamp(longest * kTrialGrowth, goal.initial_duration, goal.final_duration);
}

std::optional<ThroughputSearch::NextTrial> ThroughputSearch::Next() const {
  for (size_t i = 0; i < goals_.size(); ++i) {
    GoalResult before;
    for (const SearchGoal& phase : PhasesOf(goals_[i])) {
      if (const std::optional<double> load = NextLoad(phase, before)) {
        return NextTrial{.load = *load, .duration = NextDuration(phase, *load), .goal = i};
      }
      before = BoundsOf(phase);
    }
  }
  return std::nullopt;
}

}  // namespace bfly::control
