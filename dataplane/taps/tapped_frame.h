// SPDX-License-Identifier: Apache-2.0
// What a tap keeps of a frame, beside its first bytes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "topologies/tag.h"

namespace bfly::dataplane {

enum class TapPlace : uint8_t { kLink, kPortIn, kPortOut };

// A path may end at a row without a port.
inline constexpr uint32_t kNoPort = UINT32_MAX;

struct TappedFrame {
  // TSC at which the frame came to this place, worked out from sizes, rates and delays; and the TSC
  // at which the worker copied it, which is never earlier.
  uint64_t arrival = 0;
  uint64_t copied = 0;
  uint64_t birth = 0;  // TSC at which the frame entered the fabric
  WireTag tag = 0;     // the directions of this hop and of the hops after it
  uint32_t number =
      0;  // kLink: row * ports + port; at ports: the index in FabricConfig::ports, or kNoPort
  uint32_t row = 0;    // the tail of the link, or the row of the port
  uint16_t stage = 0;  // kLink only
  uint16_t bytes = 0;  // length of the frame
  uint16_t kept = 0;   // length of the copy; 0 for a synthetic packet, which has no frame
  uint16_t input = 0;  // the low 16 bits of the input row
  TapPlace place = TapPlace::kLink;
  uint8_t priority = 0;
  bool fixed = false;  // as Descriptor::fixed
};
static_assert(sizeof(TappedFrame) == 56 && std::is_trivially_copyable_v<TappedFrame>);

}  // namespace bfly::dataplane
