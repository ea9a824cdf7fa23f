// SPDX-License-Identifier: Apache-2.0
// Metrics of links, and of stages, which are sums over links.
#pragma once

#include <cstdint>

#include "bfly/v1/telemetry.pb.h"
#include "control/exporter/families.h"
#include "control/exporter/owners.h"

namespace bfly::control {

// By stage and data plane.
void AddStages(const v1::Counters& counters, const LinkOwners& owners, MetricFamilies& families);

// The `most` links with the most circuits, then the most packets. Returns how many were left out.
uint64_t AddLinks(const v1::Counters& counters, const LinkOwners& owners, uint32_t most,
                  MetricFamilies& families);

}  // namespace bfly::control
