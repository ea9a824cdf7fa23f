// SPDX-License-Identifier: Apache-2.0
// Mean delay in an M/D/c queue, computed exactly.
#pragma once

namespace bfly::control {

// D(c; rho) is the mean time in a system with c servers, unit service and Poisson arrivals at rate
// c * rho, for 0 < rho < 1 and 1 <= c <= 1024. It follows from the embedded chain N' = max(N - c,
// 0) + Poisson(c rho) at unit intervals and from Little's law, D = E[N] / (c rho). The relative
// error is below 1e-9.
double MeanDelayMDc(int c, double rho);

}  // namespace bfly::control
