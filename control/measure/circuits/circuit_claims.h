// SPDX-License-Identifier: Apache-2.0
// Statements about circuit protocols that hold at every n, checked against all trials of a point.
// What holds only as n grows is fitted instead (growth_fit.h), and a bound on a probability that is
// above 1 at a point is vacuous there, with what was measured: Theorem 2.1's is n^(-c/4+1+o(1))
// with c = 4.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/claim.h"

namespace bfly::control {

// Rounds of the collision protocol in the proof of Theorem 2.1: ceil(log_c log_(1+eps) n + 2) with
// c! = (1 + eps) log n. NaN where c! <= log n.
double CollisionRoundBound(int d, uint32_t c);
// 4 ceil(loglog n), the congestion of the minimum protocol in the proof of Theorem 2.5.
double MinimumCongestionBound(int d);

std::vector<Claim> RandomizedClaims();  // collision, minimum, the data server
std::vector<Claim> BaselineClaims();    // what they are compared with
std::vector<Claim> TailClaims();        // probabilities

const std::vector<Claim>& CircuitClaims();  // all of them

}  // namespace bfly::control
