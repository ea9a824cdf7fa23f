// SPDX-License-Identifier: Apache-2.0
// Metrics of the workers of all data planes.
#pragma once

#include "bfly/v1/fabric.pb.h"
#include "control/exporter/families.h"

namespace bfly::control {

void AddWorkers(const v1::FabricStatus& fabric, MetricFamilies& families);

}  // namespace bfly::control
