// SPDX-License-Identifier: Apache-2.0
// The results of an experiment.
#pragma once

#include <string>
#include <vector>

#include "control/measure/core/claim.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/core/family.h"
#include "control/measure/core/measurement.h"

namespace bfly::control {

struct Report {
  bool complete = false;  // every trial was run
  std::vector<Measurement> series;
  std::vector<ClaimResult> claims;
  Family family;
  // The ids of claims that are about no point of the run.
  std::vector<std::string> claims_elsewhere;

  int Count(Verdict verdict) const { return CountVerdicts(claims, verdict); }
};

}  // namespace bfly::control
