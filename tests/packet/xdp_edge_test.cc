// SPDX-License-Identifier: Apache-2.0
// Packet in, verdict out: one table of frames says what the XDP program must do with each, what it
// must count, and serves for timing.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <vector>

#include "tests/packet/loaded_edge.h"
#include "tests/packet/xdp_frames.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kRows = 16;
constexpr int kHops = 8;  // a two-fold butterfly of 16 rows
constexpr uint32_t kMaxFrame = 1518;
constexpr uint32_t kBase = 0x0a4d0000;  // 10.77.0.0/27: twice as many addresses as rows
constexpr uint64_t kTagTo5 = 0xa580'0000'0000'0000;  // 1010 0101, then the end mark: output row 5

EdgeRules MacRules() {
  EdgeRules rules;
  rules.rows = kRows;
  rules.hops = kHops;
  rules.max_frame_bytes = kMaxFrame;
  return rules;
}
EdgeRules Ipv4Rules() {
  EdgeRules rules = MacRules();
  rules.addressing = {AddressingMode::kIpv4Prefix, kBase, 27};
  return rules;
}
EdgeRules TrunkRules() {
  EdgeRules rules = MacRules();
  rules.trunk = true;
  rules.max_frame_bytes = kMaxFrame + 46;
  return rules;
}

struct Fixture {
  const char* name;
  EdgeRules rules;
  Frame frame;
  edge_count count;
  uint32_t row = 0;  // for EDGE_TO_ROW
};

uint32_t ActionOf(edge_count count) {
  if (count <= EDGE_TO_TRUNK) return XDP_REDIRECT;
  return count <= EDGE_NOT_READY ? XDP_PASS : XDP_DROP;
}

Frame Tester(const TesterHeader& header, size_t bytes = 64) {
  return PadTo(Ethernet(kHost, 0x88b5) + header.bytes(), bytes);
}

std::vector<Fixture> Fixtures() {
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

class XdpEdgeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(edge_.ok()); }
  LoadedEdge edge_;
};

TEST_F(XdpEdgeTest, EveryFixtureGetsItsVerdictAndIsCountedOnce) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  std::array<uint64_t, EDGE_COUNTS> expected{};
  for (const Fixture& fixture : Fixtures()) {
    SCOPED_TRACE(fixture.name);
    ASSERT_TRUE(edge_.maps().Configure(fixture.rules).ok());
    const LoadedEdge::Run run = edge_.Feed(fixture.frame);
    EXPECT_EQ(run.action, ActionOf(fixture.count));
    EXPECT_EQ(run.out, fixture.frame) << "the program must not touch frames";
    ++expected[fixture.count];
    const auto counters = edge_.maps().Read();
    ASSERT_TRUE(counters.ok()) << counters.status();
    for (int i = 0; i < EDGE_COUNTS; ++i) {
      EXPECT_EQ(counters->actions[i].packets, expected[i]) << counters->actions[i].name;
    }
    // Configure starts the rows afresh.
    ASSERT_EQ(counters->rows.size(), fixture.count == EDGE_TO_ROW ? 1u : 0u);
    if (fixture.count == EDGE_TO_ROW) {
      EXPECT_EQ(counters->rows[0].row, fixture.row);
      EXPECT_EQ(counters->rows[0].packets, 1u);
    }
  }
}

TEST_F(XdpEdgeTest, PassesEverythingBeforeItIsConfigured) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  uint64_t fed = 0;
  for (const Fixture& fixture : Fixtures()) {
    EXPECT_EQ(edge_.Feed(fixture.frame).action, static_cast<uint32_t>(XDP_PASS)) << fixture.name;
    ++fed;
  }
  EXPECT_EQ((*edge_.maps().ReadCounts())[EDGE_NOT_READY], fed);
}

TEST_F(XdpEdgeTest, PassesTheFabricsFramesToTheKernelWhereThereIsNoSocket) {
  ASSERT_TRUE(edge_.maps().Configure(MacRules()).ok());
  EXPECT_EQ(edge_.Feed(PadTo(Ethernet(ToRowMac(1), 0x0800), 64)).action,
            static_cast<uint32_t>(XDP_PASS));
  EXPECT_EQ(edge_.Feed(PadTo(Ethernet(ToRowMac(99), 0x0800), 64)).action,
            static_cast<uint32_t>(XDP_DROP));
  const auto counts = *edge_.maps().ReadCounts();
  EXPECT_EQ(counts[EDGE_NO_SOCKET], 1u);
  EXPECT_EQ(counts[EDGE_UNKNOWN_ROW], 1u);
  EXPECT_EQ(counts[EDGE_TO_ROW], 0u);
  EXPECT_TRUE(edge_.maps().Read()->rows.empty());
}

// Row counters lie in chunks of 4096: rows at both ends of each chunk count where they belong.
TEST_F(XdpEdgeTest, CountsRowsOfALargeNetworkEachForItself) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  EdgeRules rules = MacRules();
  rules.rows = 1u << 20;
  ASSERT_TRUE(edge_.maps().Configure(rules).ok());
  std::map<uint32_t, uint64_t> expected;
  int repeat = 1;
  for (const uint32_t row : {0u, 1u, 4095u, 4096u, 8191u, 65536u, (1u << 20) - 1}) {
    expected[row] = ++repeat;
    edge_.Feed(PadTo(Ethernet(ToRowMac(row), 0x0800), 64), repeat);
  }
  std::map<uint32_t, uint64_t> counted;
  const auto counters = edge_.maps().Read();
  ASSERT_TRUE(counters.ok()) << counters.status();
  for (const XdpCounters::RowCount& count : counters->rows) {
    counted[count.row] = count.packets;
  }
  EXPECT_EQ(counted, expected);
}

TEST_F(XdpEdgeTest, KnowsWhetherItsOwnerLives) {
  EXPECT_FALSE(*edge_.maps().OwnerLives()) << "nobody has configured it";
  ASSERT_TRUE(edge_.maps().Configure(MacRules()).ok());
  EXPECT_TRUE(*edge_.maps().OwnerLives());
}

TEST_F(XdpEdgeTest, TimesEveryFixture) {
  ASSERT_NO_FATAL_FAILURE(edge_.OpenSocket());
  constexpr int kRepeat = 20000;
  uint64_t fed = 0;
  for (const Fixture& fixture : Fixtures()) {
    ASSERT_TRUE(edge_.maps().Configure(fixture.rules).ok());
    const LoadedEdge::Run run = edge_.Feed(fixture.frame, kRepeat);
    fed += kRepeat;
    std::printf("%-40s %4u ns/packet\n", fixture.name, run.nanoseconds);
  }
  const auto counts = *edge_.maps().ReadCounts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), fed);
}

}  // namespace
}  // namespace bfly::dataplane
