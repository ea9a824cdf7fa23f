// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"
#include "tests/packet/frame_bytes.h"

namespace bfly::dataplane {
namespace {

const Bytes kHost = Hex("52 54 00 12 34 56");
constexpr uint32_t kBase = Ip(10, 77, 0, 16);

// 16 rows, four hops.
FrameRules MacRules() {
  auto network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  return MakeFrameRules(*network, {}, 1518);
}

// The block has 32 addresses for 16 rows, so that addresses without a row exist.
FrameRules Ipv4Rules() {
  auto network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  return MakeFrameRules(
      *network, {.mode = AddressingMode::kIpv4Prefix, .ipv4_base = kBase, .ipv4_prefix_len = 27},
      1518);
}

// Parses a copy that ends where an allocation ends, so that a sanitizer sees the first byte too
// far.
Verdict Parse(const Bytes& frame, const FrameRules& rules, uint32_t wire_length = 0) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
  std::copy(frame.begin(), frame.end(), exact.get());
  const uint32_t length = static_cast<uint32_t>(frame.size());
  return ParseFrame(exact.get(), length, wire_length == 0 ? length : wire_length, rules);
}

void ExpectRow(const Verdict& verdict, Row row) {
  ASSERT_EQ(verdict.kind, Verdict::Kind::kRow) << DropReasonName(verdict.reason);
  EXPECT_EQ(verdict.output, row);
}

void ExpectDrop(const Verdict& verdict, DropReason reason) {
  ASSERT_EQ(verdict.kind, Verdict::Kind::kDrop);
  EXPECT_STREQ(DropReasonName(verdict.reason), DropReasonName(reason));
}

struct Tester {
  int version = 1, type = 1, header_bytes = 32, flags = 0;
  uint32_t row = 0;
  uint64_t tag = 0xa800000000000000;  // 1010, then a one bit
  uint32_t stage = 0;
  uint32_t inner_bytes = 8;
};

Bytes TesterFrame(const Tester& t) {
  return Ethernet(kHost, kHost, 0x88b5,
                  Number(t.version, 1) + Number(t.type, 1) + Number(t.header_bytes, 1) +
                      Number(t.flags, 1) + Number(t.row, 4) + Number(t.tag, 8) + Number(7, 4) +
                      Number(t.stage, 2) + Number(t.inner_bytes, 2) + Zeros(8) + Pattern(8));
}

TEST(FrameByMac, TheLow24BitsOfTheDestinationAreTheRow) {
  for (Row row = 0; row < 16; ++row) {
    ExpectRow(Parse(Ethernet(RowAddress(row), kHost, 0x0800, Pattern(46)), MacRules()), row);
  }
}

// What the quick look says of a copy that ends where an allocation ends.
bool ReadsPlain(const Bytes& frame, PlainFrame& plain) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
  std::copy(frame.begin(), frame.end(), exact.get());
  return ReadPlainFrame(exact.get(), static_cast<uint32_t>(frame.size()), MacRules(), plain);
}

TEST(FrameByMac, TheQuickLookAgreesWithTheParserOrLeavesTheFrameToIt) {
  std::mt19937 random(3);
  const uint16_t types[] = {0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x88b5, 0x1234};
  int agreed = 0, urgent = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Bytes to = i % 5 == 0 ? kBroadcast : i % 7 == 0 ? kHost : RowAddress(random() % 20);
    Bytes payload(random() % 50);
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random());
    if (!payload.empty() && random() % 2 == 0) {
      payload[0] = static_cast<uint8_t>(random() % 2 == 0 ? 0x45 : 0x60 | random() % 16);
    }
    Bytes frame = Ethernet(to, kHost, types[random() % 7], payload);
    if (random() % 8 == 0) frame.resize(random() % frame.size() + 1);
    PlainFrame plain;
    if (!ReadsPlain(frame, plain)) continue;
    ++agreed;
    urgent += frame[12] == 0x86 && plain.priority > 0;
    ExpectRow(Parse(frame, MacRules()), plain.output);
    ASSERT_EQ(PriorityOf(frame.data(), static_cast<uint32_t>(frame.size())), plain.priority);
  }
  EXPECT_GT(agreed, 4000);
  EXPECT_GT(urgent, 100) << "frames of IPv6 with a priority";
}

TEST(FrameByMac, TheQuickLookReadsWhatHostsSend) {
  PlainFrame plain;
  for (Row row = 0; row < 16; ++row) {
    ASSERT_TRUE(
        ReadsPlain(Ethernet(RowAddress(row), kHost, 0x0800, Hex("45 b8") + Zeros(44)), plain));
    EXPECT_EQ(plain.output, row);
    EXPECT_EQ(plain.priority, 5) << "the first three bits of b8";
    // Version 6, then the traffic class b8.
    ASSERT_TRUE(
        ReadsPlain(Ethernet(RowAddress(row), kHost, 0x86dd, Hex("6b 80") + Zeros(44)), plain));
    EXPECT_EQ(plain.output, row);
    EXPECT_EQ(plain.priority, 5);
    ASSERT_TRUE(ReadsPlain(Ethernet(RowAddress(row), kHost, 0x86dd, Pattern(46)), plain));
    EXPECT_EQ(plain.output, row);
    EXPECT_EQ(plain.priority, 0) << "no IPv6";
  }
  EXPECT_FALSE(ReadsPlain(Ethernet(RowAddress(1), kHost, 0x8100, Pattern(46)), plain));
  EXPECT_FALSE(ReadsPlain(Ethernet(RowAddress(1), kHost, 0x88b5, Pattern(46)), plain));
  EXPECT_FALSE(ReadsPlain(Ethernet(RowAddress(16), kHost, 0x0800, Pattern(46)), plain));
  EXPECT_FALSE(ReadsPlain(Ethernet(kBroadcast, kHost, 0x0800, Pattern(46)), plain));
}

TEST(FrameByMac, ARowOutsideTheNetworkIsUnknown) {
  for (Row row : {16u, 255u, 0x10000u, 0xffffffu}) {
    ExpectDrop(Parse(Ethernet(RowAddress(row), kHost, 0x0800), MacRules()),
               DropReason::kUnknownRow);
  }
}

TEST(FrameByMac, BroadcastAndMulticastAreFlooded) {
  for (const Bytes& to : {kBroadcast, Hex("33 33 00 00 00 01"), Hex("01 00 5e 00 00 fb")}) {
    EXPECT_EQ(Parse(Ethernet(to, kHost, 0x0806), MacRules()).kind, Verdict::Kind::kFlood);
  }
}

TEST(FrameByMac, AForeignUnicastAddressIsNotForTheFabric) {
  for (const Bytes& to : {kHost, Hex("02 bf 01 00 00 03"), Hex("00 bf 00 00 00 03")}) {
    ExpectDrop(Parse(Ethernet(to, kHost, 0x0800), MacRules()), DropReason::kNotForFabric);
  }
}

TEST(FrameByMac, VlanTagsAreCarriedAlong) {
  ExpectRow(Parse(Ethernet(RowAddress(3), kHost, 0x8100, Hex("0064 0800")), MacRules()), 3);
  ExpectRow(Parse(Ethernet(RowAddress(3), kHost, 0x88a8, Hex("0001 8100 0064 0800")), MacRules()),
            3);
}

TEST(FrameByIpv4, TheDestinationAddressMinusTheBaseIsTheRow) {
  for (Row row = 0; row < 16; ++row) {
    const Bytes packet = Ipv4(kBase + 1, kBase + row, Pattern(26));
    ExpectRow(Parse(Ethernet(kHost, kHost, 0x0800, packet), Ipv4Rules()), row);
    ExpectRow(Parse(Ethernet(kBroadcast, kHost, 0x0800, packet), Ipv4Rules()), row);
    ExpectRow(Parse(Ethernet(kHost, kHost, 0x8100, Hex("0064 0800") + packet), Ipv4Rules()), row);
  }
}

TEST(FrameByIpv4, AnAddressOfTheBlockWithoutARowIsUnknownAndOneOutsideIsNotForTheFabric) {
  const auto to = [](uint32_t ip) {
    return Parse(Ethernet(kHost, kHost, 0x0800, Ipv4(kBase, ip)), Ipv4Rules());
  };
  ExpectDrop(to(kBase + 16), DropReason::kUnknownRow);
  ExpectDrop(to(kBase + 31), DropReason::kUnknownRow);
  ExpectDrop(to(kBase + 32), DropReason::kNotForFabric);
  ExpectDrop(to(kBase - 1), DropReason::kNotForFabric);
  ExpectDrop(to(0), DropReason::kNotForFabric);
  ExpectDrop(to(0xffffffff), DropReason::kNotForFabric);
}

TEST(FrameByIpv4, ArpGoesToTheRowOfItsTarget) {
  const Bytes ask = Arp(1, kHost, kBase + 2, Zeros(6), kBase + 9);
  ExpectRow(Parse(Ethernet(kBroadcast, kHost, 0x0806, ask), Ipv4Rules()), 9);
  const Bytes answer = Arp(2, kHost, kBase + 9, kHost, kBase + 2);
  ExpectRow(Parse(Ethernet(kHost, kHost, 0x0806, answer), Ipv4Rules()), 2);
}

TEST(FrameByIpv4, ArpForAnAddressOutsideOrOfAnotherKindIsNotForTheFabric) {
  const Bytes outside = Arp(1, kHost, kBase, Zeros(6), Ip(192, 168, 0, 1));
  ExpectDrop(Parse(Ethernet(kBroadcast, kHost, 0x0806, outside), Ipv4Rules()),
             DropReason::kNotForFabric);
  Bytes token_ring = Arp(1, kHost, kBase, Zeros(6), kBase + 1);
  token_ring[1] = 6;
  ExpectDrop(Parse(Ethernet(kBroadcast, kHost, 0x0806, token_ring), Ipv4Rules()),
             DropReason::kNotForFabric);
}

TEST(FrameByIpv4, OtherMulticastIsFloodedAndOtherUnicastIsNotForTheFabric) {
  const Bytes group = Hex("33 33 00 00 00 01");
  EXPECT_EQ(Parse(Ethernet(group, kHost, 0x86dd, Pattern(40)), Ipv4Rules()).kind,
            Verdict::Kind::kFlood);
  EXPECT_EQ(
      Parse(Ethernet(Hex("01 00 5e 00 00 fb"), kHost, 0x0800, Ipv4(kBase, Ip(224, 0, 0, 251))),
            Ipv4Rules())
          .kind,
      Verdict::Kind::kFlood);
  ExpectDrop(Parse(Ethernet(kHost, kHost, 0x86dd, Pattern(40)), Ipv4Rules()),
             DropReason::kNotForFabric);
}

TEST(FrameByIpv4, APacketThatIsNoIpv4IsNotForTheFabric) {
  Bytes packet = Ipv4(kBase, kBase + 1);
  packet[0] = 0x65;
  ExpectDrop(Parse(Ethernet(kHost, kHost, 0x0800, packet), Ipv4Rules()), DropReason::kNotForFabric);
  packet[0] = 0x44;
  ExpectDrop(Parse(Ethernet(kHost, kHost, 0x0800, packet), Ipv4Rules()), DropReason::kNotForFabric);
}

TEST(FrameLength, WhatAFrameAnnouncesAndDoesNotHoldIsTruncated) {
  const auto cut = [](const Bytes& frame, size_t size) {
    return Parse(Bytes(frame.begin(), frame.begin() + size), Ipv4Rules());
  };
  const Bytes ip = Ethernet(kHost, kHost, 0x0800, Ipv4(kBase, kBase + 1, Pattern(10)));
  for (size_t size = 0; size < ip.size(); ++size) ExpectDrop(cut(ip, size), DropReason::kTruncated);
  const Bytes arp = Ethernet(kBroadcast, kHost, 0x0806, Arp(1, kHost, kBase, Zeros(6), kBase + 1));
  for (size_t size = 0; size < arp.size(); ++size)
    ExpectDrop(cut(arp, size), DropReason::kTruncated);
  const Bytes vlan = Ethernet(kHost, kHost, 0x8100, Hex("0064 0800") + Ipv4(kBase, kBase + 1));
  for (size_t size = 0; size < vlan.size(); ++size) {
    ExpectDrop(cut(vlan, size), DropReason::kTruncated);
  }
  const Bytes tester = TesterFrame({.inner_bytes = 0});
  for (size_t size = 0; size < 14 + 32; ++size)
    ExpectDrop(cut(tester, size), DropReason::kTruncated);
}

TEST(FrameLength, AFrameOverTheLimitIsOversizedAndOneAtTheLimitIsNot) {
  const Bytes head = Ethernet(RowAddress(3), kHost, 0x0800, Pattern(46));
  ExpectRow(Parse(head, MacRules(), 1518), 3);
  ExpectDrop(Parse(head, MacRules(), 1519), DropReason::kOversized);
}

TEST(TesterFrame, SetsItsTagAndMayNameItsInput) {
  for (const FrameRules& rules : {MacRules(), Ipv4Rules()}) {
    const Verdict plain = Parse(TesterFrame({}), rules);
    ASSERT_EQ(plain.kind, Verdict::Kind::kTag) << DropReasonName(plain.reason);
    EXPECT_EQ(plain.tag, 0xa800000000000000u);
    EXPECT_EQ(plain.output, 10u);
    EXPECT_FALSE(plain.names_input);
    EXPECT_TRUE(plain.fixed) << "a direction has one port, so the tag says the ports";
    const Verdict named = Parse(TesterFrame({.flags = 1, .row = 5}), rules);
    ASSERT_EQ(named.kind, Verdict::Kind::kTag);
    EXPECT_TRUE(named.names_input);
    EXPECT_EQ(named.input, 5u);
  }
}

TEST(TesterFrame, ATwoFoldTagEndsInItsOutput) {
  auto network = Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 16});
  // Middle row 0110, output row 0011, a one bit.
  const Verdict verdict =
      Parse(TesterFrame({.tag = 0x6380000000000000}), MakeFrameRules(*network, {}, 1518));
  ASSERT_EQ(verdict.kind, Verdict::Kind::kTag);
  EXPECT_EQ(verdict.output, 3u);
}

// Two hops of one direction bit and two port bits each.
TEST(TesterFrame, MaySayThePortsWhereADirectionHasSeveral) {
  auto network =
      Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = 4, .multiplicity = 3});
  const FrameRules rules = MakeFrameRules(*network, {}, 1518);
  // 1.01 0.10, a one bit.
  const Verdict fixed =
      Parse(TesterFrame({.flags = 8, .tag = 0b1010'1010ull << 56 | 1ull << 57}), rules);
  ASSERT_EQ(fixed.kind, Verdict::Kind::kTag);
  EXPECT_TRUE(fixed.fixed);
  EXPECT_EQ(fixed.output, 2u);
  const Verdict free = Parse(TesterFrame({.tag = 0b1000'0010ull << 56}), rules);
  ASSERT_EQ(free.kind, Verdict::Kind::kTag);
  EXPECT_FALSE(free.fixed);
  EXPECT_EQ(free.output, 2u);
  // Port 3 of a direction that has three; a bit too few.
  ExpectDrop(Parse(TesterFrame({.flags = 8, .tag = 0b1110'0010ull << 56}), rules),
             DropReason::kBadHeader);
  ExpectDrop(Parse(TesterFrame({.tag = 0b1000'0100ull << 56}), rules), DropReason::kBadHeader);
  // Where every direction has one port the flag means nothing, and is refused.
  ExpectDrop(Parse(TesterFrame({.flags = 8}), MacRules()), DropReason::kBadHeader);
}

TEST(TesterFrame, AHeaderThatLiesIsBad) {
  const Tester lies[] = {
      {.version = 0},
      {.version = 2},
      {.type = 0},
      {.type = 2},  // a trunk's header on a host port
      {.header_bytes = 31},
      {.header_bytes = 255},
      {.flags = 2},
      {.flags = 0x80},
      {.flags = 1, .row = 16},
      {.flags = 1, .row = 0xffffffff},
      {.row = 1},                   // a row without the flag that says so
      {.tag = 0},                   // no hops at all
      {.tag = 0x8000000000000000},  // no hops left
      {.tag = 0xb000000000000000},  // three hops
      {.tag = 0xa400000000000000},  // five hops
      {.tag = 0xa800000000000001},  // sixty-three hops
      {.stage = 1},
      {.inner_bytes = 9},
      {.inner_bytes = 0xffff},
  };
  for (const Tester& lie : lies) {
    ExpectDrop(Parse(TesterFrame(lie), MacRules()), DropReason::kBadHeader);
  }
}

// 200,000 frames of random bytes, half of them with a believable ethertype; a sanitizer build sees
// any read out of bounds, and a verdict that names a row names one of the network.
TEST(RandomFrames, GetAVerdictInsideTheNetwork) {
  std::mt19937_64 random(20260101);
  const Bytes types[] = {Hex("0800"), Hex("0806"), Hex("8100"),
                         Hex("88a8"), Hex("88b5"), Hex("86dd")};
  for (int i = 0; i < 200000; ++i) {
    Bytes frame(random() % 100);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
    if (i % 2 == 0 && frame.size() >= 14) {
      const Bytes& type = types[random() % std::size(types)];
      std::copy(type.begin(), type.end(), frame.begin() + 12);
    }
    for (const FrameRules& rules : {MacRules(), Ipv4Rules()}) {
      const Verdict verdict = Parse(frame, rules, static_cast<uint32_t>(random() % 2000));
      if (verdict.kind == Verdict::Kind::kRow || verdict.kind == Verdict::Kind::kTag) {
        ASSERT_LT(verdict.output, 16u);
        ASSERT_LT(verdict.input, 16u);
      }
    }
  }
}

// The three bits of each traffic class are counted by hand: they stand in bits 7 to 5 of the class,
// whose upper half is the lower half of the header's first byte (RFC 8200, section 3).
TEST(Frame, PriorityOfIpv6IsReadFromTheTrafficClass) {
  for (uint32_t traffic_class = 0; traffic_class < 256; ++traffic_class) {
    const Bytes frame =
        Ethernet(RowAddress(1), kHost, 0x86dd, Number(6u << 28 | traffic_class << 20 | 0xfffff, 4));
    EXPECT_EQ(PriorityOf(frame.data(), 18), traffic_class / 32);
    EXPECT_EQ(PriorityOf(frame.data(), 15), 0) << "cut off";
    EXPECT_EQ(PriorityOf(frame.data(), 14), 0) << "cut off";
  }
  const Bytes urgent = Ethernet(RowAddress(1), kHost, 0x86dd, Hex("6b 80 00 00"));
  EXPECT_EQ(PriorityOf(urgent.data(), 18), 5) << "expedited forwarding, b8";
  const Bytes tagged = Ethernet(RowAddress(1), kHost, 0x8100, Hex("60 64 86dd 6b 80 00 00"));
  EXPECT_EQ(PriorityOf(tagged.data(), 22), 3) << "the VLAN tag goes first";
  const Bytes other = Ethernet(RowAddress(1), kHost, 0x86dd, Hex("4b b8 00 00"));
  EXPECT_EQ(PriorityOf(other.data(), 18), 0) << "no IPv6";
}

TEST(Frame, PriorityIsReadFromTheVlanTagOrTheDscp) {
  uint8_t frame[64] = {};
  EXPECT_EQ(PriorityOf(frame, sizeof(frame)), 0);
  frame[12] = 0x08;  // IPv4
  frame[14] = 0x45;
  frame[15] = 0xb8;  // expedited forwarding, 46 << 2
  EXPECT_EQ(PriorityOf(frame, sizeof(frame)), 5);
  EXPECT_EQ(PriorityOf(frame, 15), 0) << "cut off";
  frame[14] = 0x65;
  EXPECT_EQ(PriorityOf(frame, sizeof(frame)), 0) << "no IPv4";
  frame[12] = 0x81;  // 802.1Q
  frame[14] = 0x60;  // PCP 3
  EXPECT_EQ(PriorityOf(frame, sizeof(frame)), 3);
}

}  // namespace
}  // namespace bfly::dataplane
