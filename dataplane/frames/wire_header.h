// SPDX-License-Identifier: Apache-2.0
// bfly's own header. A tester writes it to choose a path bit by bit, and a trunk puts it in front
// of a frame that crosses from one data plane to another. It follows the Ethernet header (ethertype
// 0x88b5, IEEE 802 local experimental 1). Every field is in network byte order, and
// docs/wire_header.md shows the layout.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace bfly::dataplane {

inline constexpr uint16_t kBflyEtherType = 0x88b5;
inline constexpr uint8_t kWireVersion = 1;

enum class WireType : uint8_t {
  kTester = 1,  // sent and received by hosts: the frame enters the fabric and leaves it unchanged
  kTrunk = 2,   // between data planes only; the frame of a host follows it
  kProgram =
      3,  // between data planes only; messages of a program follow it (programs/program_frame.h)
};

enum WireFlags : uint8_t {
  kWireNamesInput = 1,  // tester: `row` is the input row; without it the port determines the row
  kWireSynthetic =
      2,  // trunk: no frame follows, inner_bytes is the length that the packet pretends to have
  kWireFixedPorts = 8,   // if a direction has several ports: the tag says the port of each hop;
                         // without the flag the nodes pick one of the direction's ports
  kWirePriority = 0x70,  // trunk: three bits, 0..7
};
inline constexpr int kWirePriorityShift = 4;

// The header as it lies in a frame. Numbers are arrays of bytes, so it may start at any address.
struct WireHeader {
  uint8_t version;       // kWireVersion
  uint8_t type;          // WireType
  uint8_t header_bytes;  // tester: 32; trunk: 40, with the fields of TrunkHeader
  uint8_t flags;         // WireFlags; bits not listed are 0
  uint8_t row[4];        // tester: input row; trunk: row the packet is at, after `stage`
  uint8_t tag[8];        // WireTag (topologies/tag.h): hops still to go, then a one bit, then zeros
  uint8_t sequence[4];   // trunk: low half of the packet's number in `queue`; tester: free for its
                         // own use
  uint8_t stage;         // trunk: the stage the packet crossed last; tester: 0
  uint8_t queue;         // trunk: the sender's transmit queue; tester: 0
  uint8_t inner_bytes[2];  // bytes that follow; the rest of the frame is padding
  uint8_t age[6];          // trunk: nanoseconds since injection; tester: free for its own use
  uint8_t input[2];        // trunk: low 16 bits of the input row; tester: free for its own use
};
static_assert(sizeof(WireHeader) == 32 && alignof(WireHeader) == 1 &&
              std::is_trivially_copyable_v<WireHeader>);

// The header of a trunk's frame.
struct TrunkHeader {
  WireHeader wire;
  uint8_t session[4];        // a number that the sender draws when it starts
  uint8_t sequence_high[4];  // high half of the packet's number, which counts from 0
};
static_assert(sizeof(TrunkHeader) == 40 && alignof(TrunkHeader) == 1 &&
              std::is_trivially_copyable_v<TrunkHeader>);

inline constexpr int kEthernetBytes = 14;
// The bytes that a trunk adds to a frame: a device that carries a trunk needs an MTU larger by this
// much.
inline constexpr int kTrunkOverhead = kEthernetBytes + static_cast<int>(sizeof(TrunkHeader));

inline uint16_t LoadBe16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap16(v);
}
inline uint32_t LoadBe32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap32(v);
}
inline uint64_t LoadBe64(const uint8_t* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_bswap64(v);
}
inline void StoreBe16(uint8_t* p, uint16_t v) {
  v = __builtin_bswap16(v);
  std::memcpy(p, &v, sizeof(v));
}
inline void StoreBe32(uint8_t* p, uint32_t v) {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof(v));
}
inline void StoreBe64(uint8_t* p, uint64_t v) {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, sizeof(v));
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Load/Store swap bytes");

}  // namespace bfly::dataplane
