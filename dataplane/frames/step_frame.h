// SPDX-License-Identifier: Apache-2.0
// The frame of a packet of a step program, as a host on its output row receives it: from the row
// address of its input, with a tester's header (wire_header.h) behind the Ethernet header.
#pragma once

#include <cstdint>

#include "topologies/tag.h"

namespace bfly::dataplane {

// The shortest frame in bytes, without FCS.
inline constexpr uint32_t kShortestStepFrame = 64;

struct StepFrame {
  Row input = 0;
  Row output = 0;
  WireTag tag = 0;      // the tag of a path to the output; the packet may take another path
  uint32_t number = 0;  // the number of the packet in its run
  // The destination address is the broadcast address, not that of the output row.
  bool to_everybody = false;
};

// Writes `bytes` bytes, kShortestStepFrame..9018. The bytes behind the header are zero.
void WriteStepFrame(const StepFrame& frame, uint32_t bytes, uint8_t* out);

}  // namespace bfly::dataplane
