// SPDX-License-Identifier: Apache-2.0
// Runs an experiment (every point with every seed), checks the claims and writes the results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/core/experiment.h"
#include "control/measure/core/journal.h"
#include "control/measure/core/report.h"

namespace bfly::control {

struct Progress {
  size_t done = 0;  // trials that have been run
  size_t total = 0;
  std::string point = {};  // the point that runs now
  uint64_t seed = 0;
};

// Runs every trial that `journal` does not hold yet, up to `at_once` at a time: the report does not
// depend on it. Calls `on_progress` before and during every trial; if it returns false the run
// ends, and the report has the points up to the first one that misses a trial, and is not complete.
absl::StatusOr<Report> Measure(const Experiment& experiment, Journal& journal,
                               const std::function<bool(const Progress&)>& on_progress,
                               int at_once = 1);

// results.json does not depend on the machine or the time: except on the wall clock, the same
// experiment gives the same bytes. `measured` says that every trial was run; `complete` stays false
// until the plots are drawn too (draw_folder.h).
std::string ResultsJson(const Experiment& experiment, const Report& report);

// Writes results.json and the files of the experiment to `folder`. The status names a file that
// could not be written.
absl::Status WriteReport(const Experiment& experiment, const Report& report,
                         const std::string& folder);

}  // namespace bfly::control
