// SPDX-License-Identifier: Apache-2.0
// Runs an experiment: every point with every seed, then the claims; and writes what came of it.
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
  size_t done = 0;  // trials
  size_t total = 0;
  std::string point = {};  // the one that runs now
  uint64_t seed = 0;
};

// Trials that `journal` holds are not run again. `on_progress` is called before every trial; when
// it returns false the run ends there, and the report has the points that are whole and is not
// complete.
absl::StatusOr<Report> Measure(const Experiment& experiment, Journal& journal,
                               const std::function<bool(const Progress&)>& on_progress);

// results.json has nothing that depends on the machine or the time: the same experiment gives the
// same bytes, but on the wall clock. `measured` says that every trial was run; `complete` is false
// until the plots are drawn too (draw_folder.h).
std::string ResultsJson(const Experiment& experiment, const Report& report);

// Writes results.json and the files of the experiment to `folder`. The status names the file that
// could not be written.
absl::Status WriteReport(const Experiment& experiment, const Report& report,
                         const std::string& folder);

}  // namespace bfly::control
