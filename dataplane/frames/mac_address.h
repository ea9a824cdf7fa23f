// SPDX-License-Identifier: Apache-2.0
// MAC addresses as numbers, and bfly's own two kinds of addresses.
#pragma once

#include <cstdint>

#include "dataplane/frames/wire_header.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// 48 bits; the first byte of the address is the highest. 0: no address is known.
using MacAddress = uint64_t;

// 02:bf:00:RR:RR:RR is the address of row RRRRRR.
inline constexpr MacAddress kRowMacPrefix = 0x02bf00;
// 02:bf:01:.. is the address of an end of a trunk, so no host can be mistaken for a trunk.
inline constexpr MacAddress kTrunkMac = 0x02bf01000000;
// 02:bf:01:00:QQ:01 is where queue pair QQ leads, so that a device can tell queue pairs apart.
// Frames with messages of programs go to the address of queue pair 0.
inline constexpr MacAddress TrunkReceiverMac(uint32_t queue) {
  return kTrunkMac | MacAddress{queue} << 8 | 1;
}

inline constexpr MacAddress kBroadcastMac = 0xffffffffffff;

inline MacAddress RowMac(Row row) { return (kRowMacPrefix << 24) | row; }
inline bool IsRowMac(MacAddress mac) { return (mac >> 24) == kRowMacPrefix; }
inline Row RowOfMac(MacAddress mac) { return static_cast<Row>(mac & 0xffffff); }
inline bool IsGroupMac(MacAddress mac) { return (mac >> 40) & 1; }

inline MacAddress LoadMac(const uint8_t* p) {
  return MacAddress{LoadBe32(p)} << 16 | LoadBe16(p + 4);
}
inline void StoreMac(uint8_t* p, MacAddress mac) {
  StoreBe32(p, static_cast<uint32_t>(mac >> 16));
  StoreBe16(p + 4, static_cast<uint16_t>(mac));
}

}  // namespace bfly::dataplane
