// SPDX-License-Identifier: Apache-2.0
// Mean delay on the two-dimensional hypercube in slots of a unit, computed exactly.
#pragma once

namespace bfly::control {

// Mean time from birth to delivery, in units, under greedy routing on the 2-cube with slots of one
// unit (Stamoulis & Tsitsiklis, section 3.4, slot = 1), for 0 < rho <= 0.9 and 0 < p <= 1. The mean
// is over all packets, including those that stay at home. It follows from the stationary state of
// the Markov chain of the two links that a packet may take one after the other. The relative error
// is below 1e-6.
double SlottedDelayOfTwoDimensions(double rho, double p);

}  // namespace bfly::control
