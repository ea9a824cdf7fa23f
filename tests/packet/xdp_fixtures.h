// SPDX-License-Identifier: Apache-2.0
// One table of frames with the verdict each must get, counted by hand from docs/wire_header.md and
// the RFCs. It serves the XDP program's correctness, its counters, its timing, and its agreement
// with dataplane/frames/frame.h.
#pragma once

#include <linux/bpf.h>

#include <vector>

#include "dataplane/xdp/edge_maps.h"
#include "tests/packet/xdp_frames.h"

namespace bfly::dataplane {

inline constexpr uint32_t kRows = 16;
inline constexpr int kHops = 8;  // a two-fold butterfly of 16 rows
inline constexpr uint32_t kMaxFrame = 1518;
inline constexpr uint32_t kBase = 0x0a4d0000;  // 10.77.0.0/27: twice as many addresses as rows
inline constexpr uint64_t kTagTo5 =
    0xa580'0000'0000'0000;  // 1010 0101, then the end mark: output row 5

inline EdgeRules MacRules() {
  EdgeRules rules;
  rules.frames.rows = kRows;
  rules.frames.tags = TagLayout::Of(kHops, 1);
  rules.frames.max_frame_bytes = kMaxFrame;
  return rules;
}
inline EdgeRules Ipv4Rules() {
  EdgeRules rules = MacRules();
  rules.frames.mode = AddressingMode::kIpv4Prefix;
  rules.frames.ipv4_base = kBase;
  rules.frames.ipv4_addresses = 32;
  return rules;
}
inline EdgeRules TrunkRules() {
  EdgeRules rules = MacRules();
  rules.trunk = true;
  rules.frames.max_frame_bytes = kMaxFrame + 46;
  return rules;
}

struct Fixture {
  const char* name;
  EdgeRules rules;
  Frame frame;
  edge_count count;
  uint32_t row = 0;  // for EDGE_TO_ROW
};

inline uint32_t ActionOf(edge_count count) {
  if (count <= EDGE_TO_TRUNK) return XDP_REDIRECT;
  return count <= EDGE_NOT_READY ? XDP_PASS : XDP_DROP;
}

inline Frame Tester(const TesterHeader& header, size_t bytes = 64) {
  return PadTo(Ethernet(kHost, 0x88b5) + header.bytes(), bytes);
}

inline std::vector<Fixture> Fixtures() {
  const EdgeRules mac = MacRules(), ipv4 = Ipv4Rules(), trunk = TrunkRules();
  const auto to_row = [](uint32_t row) { return PadTo(Ethernet(ToRowMac(row), 0x0800), 64); };
  const auto ip_to = [](uint32_t address) {
    return PadTo(Ethernet(kHost, 0x0800) + Ipv4(address), 64);
  };
  Frame version_6 = ip_to(kBase);
  version_6[14] = 0x65;
  Frame long_header = PadTo(Ethernet(kHost, 0x0800) + Ipv4(kBase, 0), 34);
  long_header[14] = 0x46;
  Frame arp_of_8_byte_addresses = Ethernet(kBroadcast, 0x0806) + ArpRequest(kBase);
  arp_of_8_byte_addresses[18] = 8;
  return {
      {"mac: first row", mac, to_row(0), EDGE_TO_ROW, 0},
      {"mac: last row", mac, to_row(15), EDGE_TO_ROW, 15},
      {"mac: first row outside", mac, to_row(16), EDGE_UNKNOWN_ROW},
      {"mac: row that fits in 16 bits only", mac, to_row(0x10005), EDGE_UNKNOWN_ROW},
      {"mac: last address of the form", mac, to_row(0xffffff), EDGE_UNKNOWN_ROW},
      {"mac: nothing but the Ethernet header", mac, Ethernet(ToRowMac(3), 0x0800), EDGE_TO_ROW, 3},
      {"mac: longest frame", mac, PadTo(to_row(7), kMaxFrame), EDGE_TO_ROW, 7},
      {"mac: longer by one", mac, PadTo(to_row(7), kMaxFrame + 1), EDGE_OVERSIZED},
      {"mac: a frame of the kernel's", mac, PadTo(Ethernet(kHost, 0x0800), 64), EDGE_FOREIGN},
      {"mac: oversized, the kernel's", mac, PadTo(Ethernet(kHost, 0x0800), 2000), EDGE_FOREIGN},
      {"mac: broadcast ARP", mac, Ethernet(kBroadcast, 0x0806) + ArpRequest(1), EDGE_FLOOD},
      {"mac: IPv6 neighbour discovery", mac, PadTo(Ethernet(kNeighbourDiscovery, 0x86dd), 86),
       EDGE_FLOOD},
      {"mac: in a VLAN", mac, PadTo(Vlan(ToRowMac(9), 7, 0x0800), 64), EDGE_TO_ROW, 9},
      {"mac: VLAN tag cut off", mac, PadTo(Ethernet(ToRowMac(9), 0x8100), 17), EDGE_TRUNCATED},
      {"mac: an end of a trunk is no row", mac, PadTo(Ethernet(kTrunk, 0x0800), 64), EDGE_FOREIGN},
      {"tester: honest", mac, Tester({.tag = kTagTo5}), EDGE_TO_ROW, 5},
      {"tester: names its input", mac, Tester({.flags = 1, .row = 15, .tag = kTagTo5}), EDGE_TO_ROW,
       5},
      {"tester: cut off", mac, PadTo(Tester({.tag = kTagTo5}), 14 + 31), EDGE_TRUNCATED},
      {"tester: other version", mac, Tester({.version = 2, .tag = kTagTo5}), EDGE_BAD_HEADER},
      {"tester: trunk type", mac, Tester({.type = 2, .tag = kTagTo5}), EDGE_BAD_HEADER},
      {"tester: wrong header length", mac, Tester({.header_bytes = 31, .tag = kTagTo5}),
       EDGE_BAD_HEADER},
      {"tester: unknown flag", mac, Tester({.flags = 2, .tag = kTagTo5}), EDGE_BAD_HEADER},
      {"tester: input outside", mac, Tester({.flags = 1, .row = 16, .tag = kTagTo5}),
       EDGE_BAD_HEADER},
      {"tester: input without saying so", mac, Tester({.row = 1, .tag = kTagTo5}), EDGE_BAD_HEADER},
      {"tester: stage set", mac, Tester({.tag = kTagTo5, .stage = 1}), EDGE_BAD_HEADER},
      {"tester: no tag", mac, Tester({}), EDGE_BAD_HEADER},
      {"tester: tag of 7 hops", mac, Tester({.tag = kTagTo5 << 1}), EDGE_BAD_HEADER},
      {"tester: tag of 9 hops", mac, Tester({.tag = kTagTo5 >> 1}), EDGE_BAD_HEADER},
      {"tester: all that follows", mac, Tester({.tag = kTagTo5, .inner_bytes = 18}), EDGE_TO_ROW,
       5},
      {"tester: more than follows", mac, Tester({.tag = kTagTo5, .inner_bytes = 19}),
       EDGE_BAD_HEADER},
      {"tester: in ipv4 mode too", ipv4, Tester({.tag = kTagTo5}), EDGE_TO_ROW, 5},
      {"ipv4: first row", ipv4, ip_to(kBase), EDGE_TO_ROW, 0},
      {"ipv4: last row", ipv4, ip_to(kBase + 15), EDGE_TO_ROW, 15},
      {"ipv4: in the block, no row", ipv4, ip_to(kBase + 16), EDGE_UNKNOWN_ROW},
      {"ipv4: last of the block", ipv4, ip_to(kBase + 31), EDGE_UNKNOWN_ROW},
      {"ipv4: after the block", ipv4, ip_to(kBase + 32), EDGE_FOREIGN},
      {"ipv4: before the block", ipv4, ip_to(kBase - 1), EDGE_FOREIGN},
      {"ipv4: header cut off", ipv4, PadTo(ip_to(kBase), 14 + 19), EDGE_TRUNCATED},
      {"ipv4: options cut off", ipv4, long_header, EDGE_TRUNCATED},
      {"ipv4: packet cut off", ipv4, PadTo(ip_to(kBase), 14 + 39), EDGE_TRUNCATED},
      {"ipv4: version 6 inside", ipv4, version_6, EDGE_FOREIGN},
      {"ipv4: in two VLANs", ipv4,
       PadTo(kHost + kHost + Be(0x88a8, 2) + Be(1, 2) + Be(0x8100, 2) + Be(2, 2) + Be(0x0800, 2) +
                 Ipv4(kBase + 3),
             64),
       EDGE_TO_ROW, 3},
      {"ipv4: multicast", ipv4, PadTo(Ethernet(kIpv4Multicast, 0x0800) + Ipv4(0xe0000001), 64),
       EDGE_FLOOD},
      {"ipv4: a row's MAC says nothing", ipv4,
       PadTo(Ethernet(ToRowMac(3), 0x0800) + Ipv4(kBase + 32), 64), EDGE_FOREIGN},
      {"ipv4: ARP for a row", ipv4, Ethernet(kBroadcast, 0x0806) + ArpRequest(kBase + 2),
       EDGE_TO_ROW, 2},
      {"ipv4: ARP for no row", ipv4, Ethernet(kBroadcast, 0x0806) + ArpRequest(kBase + 16),
       EDGE_UNKNOWN_ROW},
      {"ipv4: ARP for the kernel", ipv4, Ethernet(kBroadcast, 0x0806) + ArpRequest(kBase + 32),
       EDGE_FOREIGN},
      {"ipv4: ARP cut off", ipv4, PadTo(Ethernet(kBroadcast, 0x0806) + ArpRequest(kBase), 41),
       EDGE_TRUNCATED},
      {"ipv4: ARP of other addresses", ipv4, arp_of_8_byte_addresses, EDGE_FOREIGN},
      {"ipv4: IPv6 neighbour discovery", ipv4, PadTo(Ethernet(kNeighbourDiscovery, 0x86dd), 86),
       EDGE_FLOOD},
      {"trunk: from its peer", trunk,
       PadTo(Ethernet(kTrunk, 0x88b5) + TesterHeader{.type = 2}.bytes(), 110), EDGE_TO_TRUNK},
      {"trunk: header cut off", trunk, PadTo(Ethernet(kTrunk, 0x88b5), 45), EDGE_TRUNCATED},
      {"trunk: longer than any", trunk, PadTo(Ethernet(kTrunk, 0x88b5), kMaxFrame + 47),
       EDGE_OVERSIZED},
      {"trunk: hosts' frames are not its own", trunk, to_row(1), EDGE_FOREIGN},
  };
}

}  // namespace bfly::dataplane
