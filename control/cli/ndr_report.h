// SPDX-License-Identifier: Apache-2.0
// What `bfly bench ndr` found for one frame size, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "control/cli/ndr_trials.h"
#include "control/throughput/frame_mix.h"
#include "control/throughput/mlr_search.h"

namespace bfly::control {

// Loads are in frames a second of each sending row.
struct SizeReport {
  FrameMix mix;
  uint32_t senders = 0;
  std::optional<double> unpaced = {};  // nothing: --most says the largest load
  double min_load = 0, max_load = 0;
  std::vector<TrialOutcome> trials = {};
  std::vector<SearchGoal> goals;
  std::vector<GoalResult> results = {};
  struct AtLoad {
    double part = 0;
    TrialOutcome outcome;
  };
  std::vector<AtLoad> latencies = {};
};

nlohmann::ordered_json SizeJson(const SizeReport& report);
// `traffic` says where the frames go, and from which rows, such as "bitcomp (--ways both)".
void PrintSize(const SizeReport& report, const std::string& traffic);

// The latency histograms of all sizes as CSV, a line for each bucket: the frame size, the load as
// part of the NDR and in frames a second of each sending row, the longest latency of the bucket in
// nanoseconds, its frames, and the part of all frames, also of the lost ones, with at most this
// latency.
std::string HistogramCsv(const std::vector<SizeReport>& reports);

}  // namespace bfly::control
