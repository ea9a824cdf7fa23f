// SPDX-License-Identifier: Apache-2.0
// Runs an experiment: every point with every seed, then the claims.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/journal.h"
#include "control/measure/report.h"

namespace bfly::control {

struct Progress {
  size_t done = 0;  // trials
  size_t total = 0;
  std::string point;  // the one that runs now
  uint64_t seed = 0;
};

// Trials that `journal` holds are not run again. `on_progress` is called before every trial; when
// it returns false the run ends there, and the report has the points that are whole and is not
// complete.
absl::StatusOr<Report> Measure(const v1::Experiment& experiment, Journal& journal,
                               const std::function<bool(const Progress&)>& on_progress);

}  // namespace bfly::control
