// SPDX-License-Identifier: Apache-2.0
// Statements about circuit protocols that hold at every n, checked against all trials of a point.
// Statements that hold only as n grows are fitted instead (growth_fit.h). A bound on a probability
// is vacuous at a point where it is above 1, and the measured value is reported. Theorem 2.1's
// bound is n^(-c/4+1+o(1)) with c = 4.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/claim.h"

namespace bfly::control {

// The rounds of the collision protocol in the proof of Theorem 2.1: ceil(log_c log_(1+eps) n + 2)
// with c! = (1 + eps) log n. NaN if c! <= log n.
double CollisionRoundBound(int d, uint32_t c);
// 4 ceil(loglog n), the congestion of the minimum protocol in the proof of Theorem 2.5.
double MinimumCongestionBound(int d);

std::vector<Claim> RandomizedClaims();  // collision, minimum, the data server
std::vector<Claim> BaselineClaims();    // the protocols that these are compared with
std::vector<Claim> TailClaims();        // statements about probabilities
std::vector<Claim> LinkChoiceClaims();  // networks with several links a direction

const std::vector<Claim>& CircuitClaims();  // all four lists

}  // namespace bfly::control
