// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "control/measure/core/claim.h"
#include "control/measure/core/family.h"

namespace bfly::control {

// The result of a claim that is the only one of its run.
inline ClaimResult Check(const Claim& claim, const Measurement& m) {
  std::vector<ClaimResult> run = {Examine(claim, m)};
  Decide(run);
  return run[0];
}

}  // namespace bfly::control
