// SPDX-License-Identifier: Apache-2.0
// The report on faults that the API and the command line give.
#pragma once

#include "bfly/v1/fabric.pb.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// Takes about a second at most, on networks of a million rows.
v1::FaultReport ReportFaults(const FaultSet& faults);

}  // namespace bfly::control
