// SPDX-License-Identifier: Apache-2.0
// Mean delay in an M/D/c queue, computed exactly.
#pragma once

namespace bfly::control {

// D(c; rho): mean time in system with c servers, unit service and Poisson arrivals at rate c * rho,
// 0 < rho < 1, 1 <= c <= 1024. From the embedded chain N' = max(N - c, 0) + Poisson(c rho) at unit
// intervals and Little's law, D = E[N] / (c rho); relative error below 1e-9.
double MeanDelayMDc(int c, double rho);

}  // namespace bfly::control
