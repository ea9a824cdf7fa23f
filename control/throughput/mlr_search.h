// SPDX-License-Identifier: Apache-2.0
// Throughput search for several loss ratios at once: MLRsearch (RFC 9971). The throughput search of
// RFC 2544, section 26.1, is the goal with a loss ratio and an exceed ratio of 0.
//
// Knows no fabric and no clock. Whoever can run a trial asks for the next one and says what came of
// it. Words are those of the RFC. Loads are in frames a second for each input that sends, durations
// in seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace bfly::control {

// RFC 9971, section "Goal Terms".
struct SearchGoal {
  std::string name = {};
  // A trial that loses a larger part of its frames is a high-loss trial. 0 <= loss_ratio < 1.
  double loss_ratio = 0;
  // The part of the time at a lower bound whose trials may be high-loss. 0 <= exceed_ratio < 1.
  double exceed_ratio = 0;
  // Trials of at least this duration are full-length; a lower bound needs them.
  double final_duration = 1;
  // So much time of full-length trials decides about a load.
  double duration_sum = 1;
  // The shortest trial that is made for this goal.
  double initial_duration = 1;
  // The search is done when (upper - lower) / upper is at most this.
  double width = 0.005;
};

struct TrialResult {
  double load = 0;
  double duration = 0;
  double loss_ratio = 0;  // of the frames that were meant to be sent
};

enum class LoadClass { kUndecided, kLowerBound, kUpperBound };

// Appendix "Load Classification Code". The trials are all those made at one load.
LoadClass Classify(const SearchGoal& goal, absl::Span<const TrialResult> trials);

// Appendix "Conditional Throughput Code", in frames a second for each input that sends. The trials
// are all those made at one load, at least one.
double ConditionalThroughput(const SearchGoal& goal, absl::Span<const TrialResult> trials);

// A search with more trials than this does not come to an end: trials at the same loads contradict
// each other. Check accepts the goals.
uint64_t MostTrials(absl::Span<const SearchGoal> goals);

struct GoalResult {
  // The smallest load that is an upper bound, and the largest lower bound below it.
  std::optional<double> upper, lower;
  double throughput = 0;  // conditional, at `lower`; 0 without it
  // Both bounds were found. If not, the largest load is a lower bound, or the smallest an upper
  // one.
  bool is_regular() const { return upper.has_value() && lower.has_value(); }
};

class ThroughputSearch {
 public:
  struct NextTrial {
    double load = 0;
    double duration = 0;
    size_t goal = 0;  // the one that asks for it
  };

  // InvalidArgument names the goal or the load, its value and what would be right.
  static absl::Status Check(absl::Span<const SearchGoal> goals, double min_load, double max_load);

  // Check accepts the arguments. Goals are searched in this order, so the one with the least loss
  // comes first.
  ThroughputSearch(std::vector<SearchGoal> goals, double min_load, double max_load);

  // Nothing when all goals are reached.
  std::optional<NextTrial> Next() const;
  void Add(const TrialResult& trial);

  GoalResult Result(size_t goal) const;
  const std::vector<SearchGoal>& goals() const { return goals_; }
  // The trials at a load that a result names.
  absl::Span<const TrialResult> TrialsAt(double load) const;

 private:
  // A goal is reached in phases. The first one is the goal with short trials and a wide result; its
  // bounds are where the next phase begins.
  std::vector<SearchGoal> PhasesOf(const SearchGoal& goal) const;
  GoalResult BoundsOf(const SearchGoal& goal) const;
  std::optional<double> NextLoad(const SearchGoal& goal, const GoalResult& before) const;
  double Below(const SearchGoal& goal, double upper) const;
  double Above(const SearchGoal& goal, double lower) const;
  double NextDuration(const SearchGoal& goal, double load) const;

  const std::vector<SearchGoal> goals_;
  const double min_load_;
  const double max_load_;
  std::map<double, std::vector<TrialResult>> trials_;  // by load
};

}  // namespace bfly::control
