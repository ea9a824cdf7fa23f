// SPDX-License-Identifier: Apache-2.0
// Checksums that a kernel left to a device are finished, and all others are left alone.
#include "dataplane/xdp/kernel_checksum.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/packet/xdp_frames.h"

namespace bfly::dataplane {
namespace {

// RFC 1071, section 4.1, word by word in network byte order.
uint16_t TextbookSum(const Frame& bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

enum Protocol : uint8_t { kTcp = 6, kUdp = 17 };

// A frame of random addresses and content, and where its parts lie.
struct Packet {
  Frame frame;
  Frame pseudo_header;
  size_t segment_at = 0;
  size_t field_at = 0;  // the checksum, in the frame

  Frame segment() const { return Frame(frame.begin() + segment_at, frame.end()); }
  void SetField(uint16_t value) {
    frame[field_at] = static_cast<uint8_t>(value >> 8);
    frame[field_at + 1] = static_cast<uint8_t>(value);
  }
  // What a receiver checks: pseudo header and segment sum to all ones.
  bool Right() const { return TextbookSum(pseudo_header + segment()) == 0xffff; }
};

Frame RandomBytes(std::mt19937_64& random, size_t count) {
  Frame bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

Packet MakePacket(std::mt19937_64& random, Protocol protocol, bool ipv6, int vlans,
                  size_t payload_bytes) {
  const size_t header_bytes = protocol == kTcp ? 20 : 8;
  const size_t segment_bytes = header_bytes + payload_bytes;
  Packet packet;
  Frame frame = ToRowMac(1) + kHost;
  for (int i = 0; i < vlans; ++i) frame = frame + Be(0x8100, 2) + Be(7, 2);
  const Frame from = RandomBytes(random, ipv6 ? 16 : 4), to = RandomBytes(random, ipv6 ? 16 : 4);
  if (ipv6) {
    frame = frame + Be(0x86dd, 2) + Be(0x60000000, 4) + Be(segment_bytes, 2) + Be(protocol, 1) +
            Be(64, 1) + from + to;
    packet.pseudo_header = from + to + Be(segment_bytes, 4) + Be(protocol, 4);
  } else {
    frame = frame + Be(0x0800, 2) + Be(0x45, 1) + Be(0, 1) + Be(20 + segment_bytes, 2) +
            Be(0x12344000, 4) + Be(64, 1) + Be(protocol, 1) + Be(0, 2) + from + to;
    packet.pseudo_header = from + to + Be(protocol, 2) + Be(segment_bytes, 2);
  }
  packet.segment_at = frame.size();
  packet.field_at = frame.size() + (protocol == kTcp ? 16 : 6);
  packet.frame = frame + RandomBytes(random, segment_bytes);
  packet.SetField(0);
  return packet;
}

template <typename Check>
void ForEveryKindOfPacket(const Check& check) {
  std::mt19937_64 random(1);
  for (const Protocol protocol : {kTcp, kUdp}) {
    for (const bool ipv6 : {false, true}) {
      for (int vlans = 0; vlans <= 2; ++vlans) {
        for (const size_t payload : {0, 1, 2, 3, 4, 5, 1459, 1460, 8900}) {
          SCOPED_TRACE(testing::Message() << "protocol " << int{protocol} << " ipv6 " << ipv6
                                          << " vlans " << vlans << " payload " << payload);
          for (int i = 0; i < 20; ++i) {
            check(MakePacket(random, protocol, ipv6, vlans, payload), random);
          }
        }
      }
    }
  }
}

TEST(KernelChecksumTest, FinishesWhatTheKernelLeftToTheDevice) {
  ForEveryKindOfPacket([](Packet packet, std::mt19937_64&) {
    packet.SetField(TextbookSum(packet.pseudo_header));
    const Frame before = packet.frame;
    EXPECT_TRUE(FinishChecksum(packet.frame.data(), static_cast<uint32_t>(packet.frame.size())));
    EXPECT_TRUE(packet.Right());
    // Nothing but the field has changed.
    Frame after = packet.frame;
    after[packet.field_at] = before[packet.field_at];
    after[packet.field_at + 1] = before[packet.field_at + 1];
    EXPECT_EQ(after, before);
  });
}

TEST(KernelChecksumTest, LeavesFinishedAndDamagedFramesAlone) {
  ForEveryKindOfPacket([](Packet packet, std::mt19937_64& random) {
    packet.SetField(static_cast<uint16_t>(~TextbookSum(packet.pseudo_header + packet.segment())));
    ASSERT_TRUE(packet.Right());
    const Frame right = packet.frame;
    EXPECT_FALSE(FinishChecksum(packet.frame.data(), static_cast<uint32_t>(packet.frame.size())));
    EXPECT_EQ(packet.frame, right);

    packet.frame[packet.segment_at + random() % packet.segment().size()] ^= 0x10;
    const Frame damaged = packet.frame;
    EXPECT_FALSE(FinishChecksum(packet.frame.data(), static_cast<uint32_t>(packet.frame.size())));
    EXPECT_EQ(packet.frame, damaged);
  });
}

TEST(KernelChecksumTest, LeavesFramesAloneThatAreNotWhole) {
  std::mt19937_64 random(2);
  Packet packet = MakePacket(random, kTcp, false, 0, 40);
  packet.SetField(TextbookSum(packet.pseudo_header));
  for (uint32_t length = 0; length < packet.frame.size(); ++length) {
    Frame cut(packet.frame.begin(), packet.frame.begin() + length);
    const Frame before = cut;
    EXPECT_FALSE(FinishChecksum(cut.data(), length)) << length;
    EXPECT_EQ(cut, before) << length;
  }
  Packet fragment = packet;
  fragment.frame[20] = 0x20;  // more fragments follow
  EXPECT_FALSE(FinishChecksum(fragment.frame.data(), static_cast<uint32_t>(fragment.frame.size())));
}

// A UDP sum of 0 is sent as 0xffff: 0 says that there is no checksum.
TEST(KernelChecksumTest, NeverSaysThatUdpHasNoChecksum) {
  std::mt19937_64 random(3);
  Packet packet = MakePacket(random, kUdp, false, 0, 2);
  packet.SetField(TextbookSum(packet.pseudo_header));
  // The payload that makes the whole sum to all ones before it is inverted.
  const size_t payload_at = packet.frame.size() - 2;
  packet.frame[payload_at] = packet.frame[payload_at + 1] = 0;
  const uint16_t missing = static_cast<uint16_t>(~TextbookSum(packet.segment()));
  packet.frame[payload_at] = static_cast<uint8_t>(missing >> 8);
  packet.frame[payload_at + 1] = static_cast<uint8_t>(missing);
  EXPECT_TRUE(FinishChecksum(packet.frame.data(), static_cast<uint32_t>(packet.frame.size())));
  EXPECT_EQ(packet.frame[packet.field_at], 0xff);
  EXPECT_EQ(packet.frame[packet.field_at + 1], 0xff);
}

}  // namespace
}  // namespace bfly::dataplane
