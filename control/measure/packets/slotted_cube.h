// SPDX-License-Identifier: Apache-2.0
// Mean delay on the two-dimensional hypercube in slots of a unit, computed exactly.
#pragma once

namespace bfly::control {

// Greedy routing on the 2-cube, slots of one unit (Stamoulis & Tsitsiklis, section 3.4, slot = 1),
// 0 < rho <= 0.9, 0 < p <= 1: mean time from birth to delivery over all packets, those that stay at
// home included, in units. From the stationary state of the Markov chain of the two links a packet
// may take one after the other; relative error below 1e-6.
double SlottedDelayOfTwoDimensions(double rho, double p);

}  // namespace bfly::control
