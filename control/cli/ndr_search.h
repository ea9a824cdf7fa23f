// SPDX-License-Identifier: Apache-2.0
// The search of `bfly bench ndr` for one frame size on a running fabric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/cli/ndr_report.h"
#include "control/cli/ndr_trials.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Durations are in seconds.
struct NdrOptions {
  std::vector<std::string> sizes = {"64"};
  std::string rows;
  std::string ways = "both";
  std::string to = "bitcomp";
  double initial_duration = 0.2;
  double final_duration = 1;
  double duration_sum = 0;  // 0: one full-length trial
  double loss_ratio = 0.005;
  double exceed_ratio = 0;
  double width = 0.01;
  double most = 0;  // frames a second of each sending row; 0: what unpaced sources send, and more
  uint64_t seed = 1;
  std::string histogram;  // file for the latency histograms; empty: none
};

// Searches the throughputs, and measures the latencies below the first. DeadlineExceeded: trials
// contradict each other, so there is no end. FabricTrials may return other errors.
absl::StatusOr<SizeReport> SearchSize(const NdrOptions& options, const TrafficProfile& profile,
                                      const Common& common);

// OutOfRange: a goal has no upper or no lower bound. The message names the option that helps.
absl::Status CheckRegular(const std::vector<SizeReport>& reports);

}  // namespace bfly::control
