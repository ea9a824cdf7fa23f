// SPDX-License-Identifier: Apache-2.0
// Runs the experiments of a plan one after the other and keeps a page about them up to date.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/measure.h"
#include "control/reproduce/outcome.h"
#include "control/reproduce/page.h"
#include "control/reproduce/plan.h"

namespace bfly::control {

struct ReproduceProgress {
  size_t number = 0;  // of the experiment that runs, from 1; those that are done come first
  size_t experiments = 0;
  std::string name;
  Progress trials;
  double seconds_left = 0;  // an estimate
};

// Reads the experiments of `plan` that `out` holds, then runs the others under `out`/results, and
// writes `out`/index.html after each of these. Returns one outcome for each experiment of the plan.
// Calls `on_progress` before every trial and while it draws; if `on_progress` returns false the run
// ends, with the outcomes that are finished. Everything that is done stays, and another call goes
// on there. `at_once` trials run at the same time; 0: as many as keep the CPUs busy.
//
// AlreadyExists: `out` holds something else (RunFolder::Open), or the results of an experiment that
// has changed since. Other statuses: an experiment could not run, or a file could not be written.
absl::StatusOr<std::vector<ExperimentOutcome>> Reproduce(
    const ReproductionPlan& plan, const std::string& out, bool quick, const Provenance& provenance,
    const std::function<bool(const ReproduceProgress&)>& on_progress, int at_once = 0);

}  // namespace bfly::control
