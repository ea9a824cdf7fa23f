// SPDX-License-Identifier: Apache-2.0
// Claims about packets, and the figures that they read from the trials of a point.
#pragma once

#include <string>
#include <vector>

#include "control/measure/core/claim.h"
#include "control/measure/packets/packet_point.h"

namespace bfly::control {

inline const PacketPoint& PointOf(const Measurement& measurement) { return measurement.point; }

Estimate DelayOf(const Measurement& measurement);
// How fast the number of packets inside grows, per unit and row: born minus delivered in the
// measured time.
Estimate GrowthOf(const Measurement& measurement);
// The largest UseOf over the trials, whose permutations load links differently; 0 if there is a
// pattern and no trial knows the worst link.
double MostUseOf(const Measurement& measurement);
// True if the network has no stationary state: the paper says so (rho >= 1), a link is offered more
// than it carries, or the measurement shows it. The measurement shows it if packets were left
// inside for good, if less than 97 % of the offered packets were delivered, or if the number of
// packets inside grew, with a confidence of 99.99 %. Where the queues still fill (StillFills) they
// grow in any case, so growth does not show it.
bool IsSaturated(const Measurement& measurement);
// What leaves a claim about the stationary state, or about growth, undecided: returns why, or an
// empty string if the queues no longer fill.
std::string WhyStillFilling(const Measurement& measurement);

std::vector<Claim> GreedyClaims();      // Stamoulis & Tsitsiklis: FIFO links
std::vector<Claim> LinkUseClaims();     // the same: how much links are used
std::vector<Claim> StabilityClaims();   // the same: where packets pile up
std::vector<Claim> GeneralClaims();     // any network, arrivals and discipline
std::vector<Claim> DisciplineClaims();  // links that share their rate, and priorities
std::vector<Claim> CoupledClaims();     // FIFO against processor sharing, path by path
std::vector<Claim> RoundsClaims();      // the scheme of Valiant and Brebner
std::vector<Claim> PatternClaims();     // bitrev, transpose, ...

const std::vector<Claim>& PacketClaims();  // all claims about packets

}  // namespace bfly::control
