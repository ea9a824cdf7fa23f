// SPDX-License-Identifier: Apache-2.0
// Reads from a frame's bytes where the frame must go. The code is pure: it uses no device and has
// no state.
#pragma once

#include <cstdint>

#include "dataplane/core/config.h"
#include "dataplane/core/ledger.h"
#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

inline constexpr uint16_t kIpv4EtherType = 0x0800;
inline constexpr uint16_t kIpv6EtherType = 0x86dd;
inline constexpr uint16_t kVlanEtherType = 0x8100;
inline constexpr uint16_t kServiceVlanEtherType = 0x88a8;
// Readers of a frame skip this many VLAN tags. The bytes behind further tags are not read.
inline constexpr int kMaxVlanTags = 2;

inline bool IsVlanType(uint16_t type) {
  return type == kVlanEtherType || type == kServiceVlanEtherType;
}

// The rules by which the fabric's frames are checked. All ports use the same rules.
struct FrameRules {
  AddressingMode mode = AddressingMode::kMac;
  uint32_t ipv4_base = 0;       // address of row 0, host byte order
  uint32_t ipv4_addresses = 1;  // addresses in the block; 0 stands for all 2^32
  uint32_t rows = 0;
  TagLayout tags;
  LastHops last_hops;
  uint32_t max_frame_bytes = 1518;
};

FrameRules MakeFrameRules(const Network& network, const AddressingConfig& addressing,
                          uint32_t max_frame_bytes);

struct Verdict {
  enum class Kind : uint8_t {
    kRow,    // to `output`, by the circuit or as the topology says
    kTag,    // a tester's frame, which goes along `tag` to `output`
    kFlood,  // to every attached row except its own
    kDrop,   // `reason` says why
  };
  Kind kind = Kind::kDrop;
  DropReason reason = DropReason::kTruncated;
  bool names_input = false;  // the frame is a tester's and says its input row
  Row input = 0;
  Row output = 0;
  WireTag tag = 0;
  bool fixed = false;  // kTag: the tag says the ports; always where a direction has one port
};

// `bytes` holds the first `length` bytes of a frame of `wire_length` bytes (both without FCS).
// Headers are read from those `length` bytes alone. If the frame announces headers that they do not
// hold, it is kTruncated.
Verdict ParseFrame(const uint8_t* bytes, uint32_t length, uint32_t wire_length,
                   const FrameRules& rules);

// The priority that an IP header asks for by the first three bits of its DSCP, 0 to 7. `type` is
// the ethertype before the header, and two bytes of the header are read. Any other header, or a
// header whose IP version is not that of `type`, has priority 0.
inline uint8_t DscpPriority(uint16_t type, const uint8_t* header) {
  if (type == kIpv4EtherType) {
    return header[0] >> 4 == 4 ? static_cast<uint8_t>(header[1] >> 5) : uint8_t{0};
  }
  // The traffic class begins in the middle of the first byte.
  if (type == kIpv6EtherType && header[0] >> 4 == 6) return (header[0] & 0x0f) >> 1;
  return 0;
}

// The priority, 0 to 7, that a frame's VLAN tag (PCP) asks for or, without such a tag, its IPv4 or
// IPv6 header (DscpPriority). A frame without them has priority 0.
uint8_t PriorityOf(const uint8_t* bytes, uint32_t length);

// A plain frame, as nearly all frames are: it goes by MAC address to a row, and has no VLAN tag and
// no bfly header.
struct PlainFrame {
  Row output = 0;
  MacAddress from = 0;
  // 0..7. As a byte it would go over the stack to the word of the descriptor: the load would then
  // be wider than the store, and would wait until the store has reached the cache.
  uint64_t priority = 0;
};
// Returns true and fills in `plain` only if ParseFrame says kRow with the same output, and
// PriorityOf the same priority. It reads a frame in one step, whereas these functions may have to
// follow headers. The frame has all of its `length` bytes, at most rules.max_frame_bytes, and the
// mode of `rules` is kMac.
inline bool ReadPlainFrame(const uint8_t* bytes, uint32_t length, const FrameRules& rules,
                           PlainFrame& plain) {
  if (length < kEthernetBytes + 2) return false;
  const MacAddress to = LoadBe64(bytes) >> 16;
  const uint64_t from_and_type = LoadBe64(bytes + 6);
  const Row row = RowOfMac(to);
  const auto type = static_cast<uint16_t>(from_and_type);
  if (!IsRowMac(to) || row >= rules.rows || IsVlanType(type) || type == kBflyEtherType) {
    return false;
  }
  plain = {.output = row,
           .from = from_and_type >> 16,
           .priority = DscpPriority(type, bytes + kEthernetBytes)};
  return true;
}

// ParseFrame never looks further into a frame than this.
inline constexpr uint32_t kParsedBytes = 128;

}  // namespace bfly::dataplane
