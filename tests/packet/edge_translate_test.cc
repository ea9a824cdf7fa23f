// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "dataplane/frames/translate.h"
#include "tests/packet/frame_bytes.h"

namespace bfly::dataplane {
namespace {

const Bytes kHostAddress = Hex("52 54 00 12 34 56");
const Bytes kPeer = Hex("52 54 00 ab cd ef");
constexpr MacAddress kHostMac = 0x525400123456;
constexpr uint32_t kHostIp = Ip(192, 0, 2, 1);
constexpr uint32_t kPeerIp = Ip(192, 0, 2, 2);

// Translates a copy that ends where an allocation ends, so that a sanitizer sees the first byte too
// far.
template <typename Translate>
void OnExactCopy(Bytes& frame, Translate translate) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[frame.size()]);
  std::copy(frame.begin(), frame.end(), exact.get());
  translate(exact.get(), static_cast<uint32_t>(frame.size()));
  std::copy(exact.get(), exact.get() + frame.size(), frame.begin());
}
MacAddress In(Bytes& frame, Row row) {
  MacAddress learned = 0;
  OnExactCopy(frame,
              [&](uint8_t* bytes, uint32_t length) { learned = TranslateIn(bytes, length, row); });
  return learned;
}
void Out(Bytes& frame, Row row, MacAddress host) {
  OnExactCopy(frame,
              [&](uint8_t* bytes, uint32_t length) { TranslateOut(bytes, length, row, host); });
}

// No tag, one of each kind, and two.
const Bytes kTagChoices[] = {
    {}, Hex("8100 a064"), Hex("88a8 0001"), Hex("88a8 0001 8100 0064"), Hex("8100 0001 8100 0064")};
const Bytes kThreeTags = Hex("88a8 0001 8100 0064 8100 0065");

// The frame with `tags` behind its addresses.
Bytes Tagged(const Bytes& frame, const Bytes& tags) {
  return Bytes(frame.begin(), frame.begin() + 12) + tags + Bytes(frame.begin() + 12, frame.end());
}

// The frame with the row's address as its source, and nothing else changed.
Bytes WithSource(Bytes frame, Row row) {
  const Bytes address = RowAddress(row);
  std::copy(address.begin(), address.end(), frame.begin() + 6);
  return frame;
}

TEST(TranslateIn, PutsTheRowsAddressInPlaceOfTheHostsAndLearnsIt) {
  Bytes frame = Ethernet(RowAddress(9), kHostAddress, 0x0800, Pattern(46));
  EXPECT_EQ(In(frame, 5), kHostMac);
  EXPECT_EQ(frame, Ethernet(RowAddress(9), RowAddress(5), 0x0800, Pattern(46)));
}

TEST(TranslateIn, TurnsTheSenderOfArpIntoTheRow) {
  const Bytes ask =
      Ethernet(kBroadcast, kHostAddress, 0x0806, Arp(1, kHostAddress, kHostIp, Zeros(6), kPeerIp));
  const Bytes translated = Ethernet(kBroadcast, RowAddress(5), 0x0806,
                                    Arp(1, RowAddress(5), kHostIp, Zeros(6), kPeerIp));
  for (const Bytes& tags : kTagChoices) {
    Bytes frame = Tagged(ask, tags);
    EXPECT_EQ(In(frame, 5), kHostMac);
    EXPECT_EQ(frame, Tagged(translated, tags)) << tags.size();
  }
}

TEST(TranslateIn, LeavesWhatStandsBehindThreeTagsAlone) {
  const Bytes ask =
      Ethernet(kBroadcast, kHostAddress, 0x0806, Arp(1, kHostAddress, kHostIp, Zeros(6), kPeerIp));
  Bytes frame = Tagged(ask, kThreeTags);
  EXPECT_EQ(In(frame, 5), kHostMac);
  EXPECT_EQ(frame, WithSource(Tagged(ask, kThreeTags), 5));
}

TEST(TranslateIn, LeavesAnAddressInRowFormAndLearnsNothing) {
  for (const Bytes& tags : kTagChoices) {
    const Bytes frame = Tagged(Ethernet(RowAddress(9), RowAddress(5), 0x0806,
                                        Arp(2, RowAddress(5), kHostIp, RowAddress(9), kPeerIp)),
                               tags);
    Bytes seen = frame;
    EXPECT_EQ(In(seen, 5), 0u);
    EXPECT_EQ(seen, frame);
  }
}

TEST(TranslateIn, DoesNotLearnAGroupAddress) {
  Bytes frame = Ethernet(RowAddress(9), Hex("01 00 5e 00 00 01"), 0x0800);
  EXPECT_EQ(In(frame, 5), 0u);
}

TEST(TranslateIn, LeavesArpThatIsCutOffAlone) {
  for (const Bytes& tags : kTagChoices) {
    const Bytes whole = Tagged(
        Ethernet(kBroadcast, kHostAddress, 0x0806, Arp(1, kHostAddress, kHostIp, kPeer, kPeerIp)),
        tags);
    for (size_t size = 14; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + size);
      const Bytes expected = WithSource(cut, 5);
      EXPECT_EQ(In(cut, 5), kHostMac);
      EXPECT_EQ(cut, expected) << size;
    }
  }
}

TEST(TranslateOut, GivesTheHostItsOwnAddressBack) {
  const Bytes inside = Ethernet(RowAddress(5), RowAddress(9), 0x0806,
                                Arp(2, RowAddress(9), kPeerIp, RowAddress(5), kHostIp));
  const Bytes outside = Ethernet(kHostAddress, RowAddress(9), 0x0806,
                                 Arp(2, RowAddress(9), kPeerIp, kHostAddress, kHostIp));
  for (const Bytes& tags : kTagChoices) {
    Bytes frame = Tagged(inside, tags);
    Out(frame, 5, kHostMac);
    EXPECT_EQ(frame, Tagged(outside, tags)) << tags.size();
  }
}

TEST(TranslateOut, LeavesArpThatIsCutOffAlone) {
  for (const Bytes& tags : kTagChoices) {
    const Bytes whole = Tagged(Ethernet(kBroadcast, RowAddress(9), 0x0806,
                                        Arp(2, RowAddress(9), kPeerIp, RowAddress(5), kHostIp)),
                               tags);
    for (size_t size = 14; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + size);
      Bytes seen = cut;
      Out(seen, 5, kHostMac);
      EXPECT_EQ(seen, cut) << size;
    }
  }
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
    const Bytes plain = Discovery(c.type, Pattern(c.body, c.type), other + c.option + kHostAddress);
    ASSERT_EQ(Icmpv6Checksum(plain), 0u);
    for (const Bytes& tags : kTagChoices) {
      Bytes tagged = Tagged(plain, tags);
      EXPECT_EQ(In(tagged, 0x0a0b0c), kHostMac);
      EXPECT_EQ(Bytes(tagged.begin() + 12, tagged.begin() + 12 + tags.size()), tags);
      const Bytes frame = Bytes(tagged.begin(), tagged.begin() + 12) +
                          Bytes(tagged.begin() + 12 + tags.size(), tagged.end());
      const size_t option = frame.size() - 6;
      EXPECT_EQ(Bytes(frame.begin() + option, frame.end()), RowAddress(0x0a0b0c));
      EXPECT_EQ(Bytes(frame.begin() + option - 10, frame.begin() + option - 2), other);
      EXPECT_EQ(Icmpv6Checksum(frame), 0u) << "type " << int{c.type};
    }
  }
}

TEST(TranslateIn, LeavesNeighbourDiscoveryThatIsCutOffAlone) {
  for (const Bytes& tags : kTagChoices) {
    const Bytes whole = Tagged(Discovery(135, Pattern(20), Hex("01 01") + kHostAddress), tags);
    for (size_t size = 14; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + size);
      const Bytes expected = WithSource(cut, 5);
      EXPECT_EQ(In(cut, 5), kHostMac);
      EXPECT_EQ(cut, expected) << size;
    }
  }
}

TEST(TranslateIn, LeavesOtherIcmpv6AndBrokenOptionsAlone) {
  const Bytes echo = Discovery(128, Pattern(20), Hex("01 01") + kHostAddress);
  const Bytes endless = Discovery(135, Pattern(20), Hex("01 00") + kHostAddress);
  for (const Bytes& plain : {echo, endless}) {
    for (const Bytes& tags : kTagChoices) {
      const Bytes frame = Tagged(plain, tags);
      Bytes seen = frame;
      In(seen, 5);
      EXPECT_EQ(seen, WithSource(frame, 5));
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane
