// SPDX-License-Identifier: Apache-2.0
// Links that carry at most q circuits (Kruskal & Snir 1983, Koch 1988; THEORY.md 2.8). All requests
// advance stage by stage. A link keeps q uniformly random ones of the requests that want it; the
// other requests are lost.
#pragma once

#include <cstdint>
#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

// By path: whether the path gets a place on each of its links (locks down). Places that `standing`
// circuits hold are not given away. A path over a faulty link does not lock down and does not
// compete with other paths.
std::vector<bool> LockDown(const Network& network, const LinkLoad* standing,
                           const std::vector<CircuitPath>& paths, uint32_t q, uint64_t seed,
                           const FaultSet* faults = nullptr);

// The exact expected fraction of n requests with independent uniform destinations that lock down on
// B_n, n = 2^dimension. An output may take two of them.
double ExpectedLockedFraction(int dimension, uint32_t q);

// One random trial of the same: how many of n requests with independent uniform destinations lock
// down on B_n.
uint32_t LockDownUniform(const Network& network, uint32_t q, uint64_t seed);

}  // namespace bfly::control
