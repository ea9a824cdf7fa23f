// SPDX-License-Identifier: Apache-2.0
// Exact statements about which pairs of rows survive faults.
#pragma once

#include <vector>

#include "control/measure/core/claim.h"

namespace bfly::control {

const std::vector<Claim>& SurvivalClaims();

}  // namespace bfly::control
