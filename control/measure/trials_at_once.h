// SPDX-License-Identifier: Apache-2.0
// Runs trials of an experiment side by side on several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "control/measure/core/experiment.h"
#include "control/measure/core/journal.h"
#include "control/measure/measure.h"

namespace bfly::control {

// Each trial holds its network, so more trials at once than this would need much memory.
inline constexpr int kMaxTrialsAtOnce = 16;

// How many trials of `experiment` run at once if the user asks for `asked` of them; 0: as many as
// keep the CPUs of this machine busy. 1 if its trials must not run beside each other.
int TrialsAtOnce(const Experiment& experiment, int asked);

// Runs every trial of `points` that `journal` does not hold yet, up to `at_once` at a time, and
// adds each one to `journal` when it ends. `progress` counts them, beside the trials that `journal`
// held before. Calls `on_progress` from the calling thread about ten times a second; if it returns
// false, the running trials are asked to stop, and no further one begins.
//
// Cancelled: `on_progress` ended the run. Other statuses: the first trial that failed, or the
// journal could not be written.
absl::Status RunTrialsAtOnce(const Experiment& experiment, const std::vector<Point>& points,
                             int at_once, Journal& journal, Progress progress,
                             const std::function<bool(const Progress&)>& on_progress);

}  // namespace bfly::control
