// SPDX-License-Identifier: Apache-2.0
// Runs an experiment about circuit protocols: every point with every seed, the claims, the fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "control/measure/circuit_comparison.h"
#include "control/measure/circuit_fits.h"
#include "control/measure/claim.h"
#include "control/measure/family.h"
#include "control/measure/journal.h"

namespace bfly::control {

struct CircuitReport {
  v1::CircuitExperiment experiment;
  bool complete = false;  // every trial was run
  std::vector<Measurement> series;
  std::vector<ClaimResult> claims;
  Family family;
  std::vector<std::string> claims_elsewhere;  // ids of claims about none of the points
  std::vector<CurveFit> fits;
  std::vector<SeedComparison> comparisons;

  int Count(Verdict verdict) const;
};

struct CircuitProgress {
  size_t done = 0;  // trials
  size_t total = 0;
  std::string point;  // the one that runs now
  uint64_t seed = 0;
};

// Trials that `journal` holds are not run again. `on_progress` is called before every trial; when
// it returns false the run ends there, and the report has the points that are whole and is not
// complete.
absl::StatusOr<CircuitReport> MeasureCircuits(
    const v1::CircuitExperiment& experiment, Journal& journal,
    const std::function<bool(const CircuitProgress&)>& on_progress);

}  // namespace bfly::control
