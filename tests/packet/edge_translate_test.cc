// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dataplane/frames/translate.h"
#include "tests/packet/frame_bytes.h"

namespace bfly::dataplane {
namespace {

const Bytes kHostAddress = Hex("52 54 00 12 34 56");
const Bytes kPeer = Hex("52 54 00 ab cd ef");
constexpr MacAddress kHostMac = 0x525400123456;
constexpr uint32_t kHostIp = Ip(192, 0, 2, 1);
constexpr uint32_t kPeerIp = Ip(192, 0, 2, 2);

MacAddress In(Bytes& frame, Row row) {
  return TranslateIn(frame.data(), static_cast<uint32_t>(frame.size()), row);
}
void Out(Bytes& frame, Row row, MacAddress host) {
  TranslateOut(frame.data(), static_cast<uint32_t>(frame.size()), row, host);
}

TEST(TranslateIn, PutsTheRowsAddressInPlaceOfTheHostsAndLearnsIt) {
  Bytes frame = Ethernet(RowAddress(9), kHostAddress, 0x0800, Pattern(46));
  EXPECT_EQ(In(frame, 5), kHostMac);
  EXPECT_EQ(frame, Ethernet(RowAddress(9), RowAddress(5), 0x0800, Pattern(46)));
}

TEST(TranslateIn, TurnsTheSenderOfArpIntoTheRow) {
  Bytes frame =
      Ethernet(kBroadcast, kHostAddress, 0x0806, Arp(1, kHostAddress, kHostIp, Zeros(6), kPeerIp));
  EXPECT_EQ(In(frame, 5), kHostMac);
  EXPECT_EQ(frame, Ethernet(kBroadcast, RowAddress(5), 0x0806,
                            Arp(1, RowAddress(5), kHostIp, Zeros(6), kPeerIp)));
}

TEST(TranslateIn, LeavesAnAddressInRowFormAndLearnsNothing) {
  const Bytes frame = Ethernet(RowAddress(9), RowAddress(5), 0x0806,
                               Arp(2, RowAddress(5), kHostIp, RowAddress(9), kPeerIp));
  Bytes seen = frame;
  EXPECT_EQ(In(seen, 5), 0u);
  EXPECT_EQ(seen, frame);
}

TEST(TranslateIn, DoesNotLearnAGroupAddress) {
  Bytes frame = Ethernet(RowAddress(9), Hex("01 00 5e 00 00 01"), 0x0800);
  EXPECT_EQ(In(frame, 5), 0u);
}

TEST(TranslateIn, LeavesArpThatIsCutOffAlone) {
  const Bytes whole =
      Ethernet(kBroadcast, kHostAddress, 0x0806, Arp(1, kHostAddress, kHostIp, kPeer, kPeerIp));
  for (size_t size = 14; size < whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + size);
    Bytes expected = cut;
    const Bytes row = RowAddress(5);
    std::copy(row.begin(), row.end(), expected.begin() + 6);
    In(cut, 5);
    EXPECT_EQ(cut, expected) << size;
  }
}

TEST(TranslateOut, GivesTheHostItsOwnAddressBack) {
  Bytes frame = Ethernet(RowAddress(5), RowAddress(9), 0x0806,
                         Arp(2, RowAddress(9), kPeerIp, RowAddress(5), kHostIp));
  Out(frame, 5, kHostMac);
  EXPECT_EQ(frame, Ethernet(kHostAddress, RowAddress(9), 0x0806,
                            Arp(2, RowAddress(9), kPeerIp, kHostAddress, kHostIp)));
}

TEST(TranslateOut, LeavesBroadcastAndOtherAddressesAlone) {
  for (const Bytes& to : {kBroadcast, RowAddress(6), kPeer}) {
    const Bytes frame = Ethernet(to, RowAddress(9), 0x0800, Pattern(46));
    Bytes seen = frame;
    Out(seen, 5, kHostMac);
    EXPECT_EQ(seen, frame);
  }
}

// RFC 4443, section 2.3, written from the RFC: the one's complement sum over the pseudo-header and
// message.
uint16_t Icmpv6Checksum(const Bytes& frame) {
  const Bytes message(frame.begin() + 54, frame.end());
  Bytes covered(frame.begin() + 22, frame.begin() + 54);  // source and destination
  covered = covered + Number(message.size(), 4) + Number(58, 4) + message;
  uint64_t sum = 0;
  for (size_t i = 0; i < covered.size(); i += 2) sum += covered[i] * 256u + covered[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// A neighbour discovery message of `type` whose body before the options has `body` bytes.
Bytes Discovery(uint8_t type, const Bytes& body, const Bytes& options) {
  const Bytes message = Number(type, 1) + Hex("00 0000") + body + options;
  Bytes frame = Ethernet(Hex("33 33 ff 00 00 02"), kHostAddress, 0x86dd,
                         Hex("6000 0000") + Number(message.size(), 2) + Hex("3a ff") +
                             Hex("fe80 0000 0000 0000 5054 00ff fe12 3456") +
                             Hex("ff02 0000 0000 0000 0000 0001 ff00 0002") + message);
  const uint16_t checksum = Icmpv6Checksum(frame);
  frame[56] = static_cast<uint8_t>(checksum >> 8);
  frame[57] = static_cast<uint8_t>(checksum);
  return frame;
}

TEST(TranslateIn, TurnsTheAddressOptionsOfNeighbourDiscoveryIntoTheRowAndKeepsTheChecksumRight) {
  struct {
    uint8_t type;
    size_t body;
    Bytes option;
  } cases[] = {{133, 4, Hex("01 01")},
               {134, 12, Hex("01 01")},
               {135, 20, Hex("01 01")},
               {136, 20, Hex("02 01")}};
  for (const auto& c : cases) {
    const Bytes other = Hex("05 01 0000 0000 05dc");  // an MTU option stays as it is
    Bytes frame = Discovery(c.type, Pattern(c.body, c.type), other + c.option + kHostAddress);
    ASSERT_EQ(Icmpv6Checksum(frame), 0u);
    EXPECT_EQ(In(frame, 0x0a0b0c), kHostMac);
    const size_t option = frame.size() - 6;
    EXPECT_EQ(Bytes(frame.begin() + option, frame.end()), RowAddress(0x0a0b0c));
    EXPECT_EQ(Bytes(frame.begin() + option - 10, frame.begin() + option - 2), other);
    EXPECT_EQ(Icmpv6Checksum(frame), 0u) << "type " << int{c.type};
  }
}

TEST(TranslateIn, LeavesOtherIcmpv6AndBrokenOptionsAlone) {
  const Bytes echo = Discovery(128, Pattern(20), Hex("01 01") + kHostAddress);
  const Bytes endless = Discovery(135, Pattern(20), Hex("01 00") + kHostAddress);
  for (const Bytes& frame : {echo, endless}) {
    Bytes expected = frame;
    const Bytes row = RowAddress(5);
    std::copy(row.begin(), row.end(), expected.begin() + 6);
    Bytes seen = frame;
    In(seen, 5);
    EXPECT_EQ(seen, expected);
  }
}

}  // namespace
}  // namespace bfly::dataplane
