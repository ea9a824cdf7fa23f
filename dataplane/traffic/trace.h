// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "topologies/network.h"

namespace bfly::dataplane {

// A packet of a recorded trace.
struct TracePacket {
  uint64_t nanoseconds = 0;  // after the start of the trace
  Row row = 0;
  Row destination = 0;
  uint32_t bytes = 64;  // without FCS
};

using Trace = std::vector<TracePacket>;  // in order of time

}  // namespace bfly::dataplane
