// SPDX-License-Identifier: Apache-2.0
// A placement for topologies that have none.
#pragma once

#include <vector>

#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// Gives each of the CPUs all stages of an equal part of the rows. The number of parts is a power of
// two, because networks cut by the leading bits of the rows exchange packets at few stages, and no
// larger than the number of workers of a data plane; so some CPUs may be left over. Does nothing if
// the topology has a placement, several data planes, or a faulty network. Returns the CPUs used.
std::vector<int> SpreadRows(const std::vector<int>& cpus, v1::Topology* topology);

}  // namespace bfly::control
