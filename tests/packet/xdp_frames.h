// SPDX-License-Identifier: Apache-2.0
// Frames written byte by byte, from the RFCs and documents instead of from the code under test.
#pragma once

#include <cstdint>
#include <vector>

namespace bfly::dataplane {

using Frame = std::vector<uint8_t>;
using Mac = std::vector<uint8_t>;

inline Frame operator+(Frame left, const Frame& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// `value` in `bytes` bytes, network byte order.
inline Frame Be(uint64_t value, int bytes) {
  Frame out;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<uint8_t>(value >> shift));
  }
  return out;
}

inline Frame PadTo(Frame frame, size_t bytes) {
  frame.resize(bytes);
  return frame;
}

inline const Mac kHost = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
inline const Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
inline const Mac kNeighbourDiscovery = {0x33, 0x33, 0xff, 0x00, 0x00, 0x01};
inline const Mac kIpv4Multicast = {0x01, 0x00, 0x5e, 0x00, 0x00, 0x01};
inline const Mac kTrunk = {0x02, 0xbf, 0x01, 0x00, 0x00, 0x00};
inline Mac ToRowMac(uint32_t row) { return Frame{0x02, 0xbf, 0x00} + Be(row, 3); }

inline Frame Ethernet(const Mac& to, uint16_t type) { return to + kHost + Be(type, 2); }
// A VLAN tag stands between the addresses and the type.
inline Frame Vlan(const Mac& to, uint16_t vlan, uint16_t type) {
  return to + kHost + Be(0x8100, 2) + Be(vlan, 2) + Be(type, 2);
}

inline Frame Ipv4(uint32_t destination, uint16_t payload_bytes = 20) {
  return Be(0x45, 1) + Be(0, 1) + Be(20 + payload_bytes, 2) + Be(0, 4) + Be(64, 1) + Be(17, 1) +
         Be(0, 2) + Be(0x0a000001, 4) + Be(destination, 4) + Frame(payload_bytes);
}

inline Frame ArpRequest(uint32_t target) {
  return Be(1, 2) + Be(0x0800, 2) + Be(6, 1) + Be(4, 1) + Be(1, 2) + kHost + Be(0x0a000001, 4) +
         Frame(6) + Be(target, 4);
}

// bfly's own header of a tester's frame, 32 bytes: dataplane/frames/wire_header.h.
struct TesterHeader {
  uint8_t version = 1;
  uint8_t type = 1;
  uint8_t header_bytes = 32;
  uint8_t flags = 0;
  uint32_t row = 0;
  uint64_t tag = 0;
  uint16_t stage = 0;
  uint16_t inner_bytes = 0;

  Frame bytes() const {
    return Be(version, 1) + Be(type, 1) + Be(header_bytes, 1) + Be(flags, 1) + Be(row, 4) +
           Be(tag, 8) + Be(0, 4) + Be(stage, 2) + Be(inner_bytes, 2) + Be(0, 8);
  }
};

}  // namespace bfly::dataplane
