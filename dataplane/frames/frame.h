// SPDX-License-Identifier: Apache-2.0
// Reads from a frame's bytes where the frame is to go. The code is pure: it uses no device and has
// no state.
#pragma once

#include <cstdint>

#include "dataplane/core/config.h"
#include "dataplane/core/ledger.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// What the fabric's frames are checked against. All ports use the same rules.
struct FrameRules {
  AddressingMode mode = AddressingMode::kMac;
  uint32_t ipv4_base = 0;       // address of row 0, host byte order
  uint32_t ipv4_addresses = 1;  // addresses in the block; 0 stands for all 2^32
  uint32_t rows = 0;
  TagLayout tags;
  uint32_t max_frame_bytes = 1518;
};

FrameRules MakeFrameRules(const Network& network, const AddressingConfig& addressing,
                          uint32_t max_frame_bytes);

struct Verdict {
  enum class Kind : uint8_t {
    kRow,    // to `output`, by the circuit or as the topology says
    kTag,    // a tester's frame, which goes along `tag` to `output`
    kFlood,  // to every attached row but its own
    kDrop,   // `reason` says why
  };
  Kind kind = Kind::kDrop;
  DropReason reason = DropReason::kTruncated;
  bool names_input = false;  // the frame is a tester's and says its input row
  Row input = 0;
  Row output = 0;
  WireTag tag = 0;
  bool fixed = false;  // the tag also says the ports
};

// `bytes` holds the first `length` bytes of a frame of `wire_length` bytes (both without FCS).
// Headers are read from those `length` bytes alone. If the frame announces headers that they do not
// hold, it is kTruncated.
Verdict ParseFrame(const uint8_t* bytes, uint32_t length, uint32_t wire_length,
                   const FrameRules& rules);

// The priority that a frame's VLAN tag (PCP) or else its IPv4 header (first three bits of the DSCP)
// asks for, 0 to 7. A frame without both has priority 0.
uint8_t PriorityOf(const uint8_t* bytes, uint32_t length);

// ParseFrame never looks further into a frame than this.
inline constexpr uint32_t kParsedBytes = 128;

}  // namespace bfly::dataplane
