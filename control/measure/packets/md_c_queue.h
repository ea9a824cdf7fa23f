// SPDX-License-Identifier: Apache-2.0
// Mean delay in an M/D/c queue, computed exactly.
#pragma once

namespace bfly::control {

// D(c; rho) is the mean time in a system with c servers, unit service and Poisson arrivals at rate
// c * rho, for 0 < rho < 1 and 1 <= c <= 1024. It follows from the embedded chain N' = max(N - c,
// 0) + Poisson(c rho) at unit intervals and from Little's law, D = E[N] / (c rho). The relative
// error is below 1e-7 for rho up to kMostExactRho.
double MeanDelayMDc(int c, double rho);

// The largest rho for which MeanDelayMDc takes a few seconds at most. Its time grows like
// (1 - rho)^-3.
inline constexpr double kMostExactRho = 0.98;

// A lower bound on D(c; rho) for 0 < rho < 1 and every c >= 1, in closed form: 1 + rho / (2c (1 -
// rho)) - (c - 1) / (2c), and at least 1 (THEORY.md, trap 10). It is exact for c = 1.
double LeastDelayMDc(int c, double rho);

}  // namespace bfly::control
