// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/translate.h"

#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint16_t kArpType = 0x0806;
constexpr uint32_t kArpPacketBytes = 28;
constexpr uint32_t kArpSender = 8;
constexpr uint32_t kArpTarget = 18;
constexpr uint32_t kIpv6Bytes = 40;
constexpr uint8_t kIcmpv6 = 58;
constexpr uint32_t kMacOptionBytes = 8;

// Whether the frame is IPv4 without a VLAN tag, as most frames are. It has no addresses inside.
bool IsPlainIpv4(const uint8_t* frame) { return LoadBe16(frame + 12) == kIpv4EtherType; }

// The part of a frame behind its Ethernet header and VLAN tags.
struct Content {
  uint16_t type = 0;  // 0: the frame ends inside a VLAN tag, or has too many of them
  uint8_t* bytes = nullptr;
  uint32_t room = 0;  // readable from `bytes` on
};

Content ContentOf(uint8_t* frame, uint32_t length) {
  uint16_t type = LoadBe16(frame + 12);
  uint32_t at = kEthernetBytes;
  for (int tags = 0; IsVlanType(type); ++tags) {
    if (tags == kMaxVlanTags || length < at + 4) return {};
    type = LoadBe16(frame + at + 2);
    at += 4;
  }
  return {.type = type, .bytes = frame + at, .room = length - at};
}

bool IsEthernetArp(const Content& content) {
  return content.type == kArpType && content.room >= kArpPacketBytes &&
         LoadBe16(content.bytes) == 1 && content.bytes[4] == 6;
}

// Returns the checksum after `old_mac` at an even offset became `new_mac` (RFC 1624, equation 3).
uint16_t Adjust(uint16_t checksum, MacAddress old_mac, MacAddress new_mac) {
  uint32_t sum = static_cast<uint16_t>(~checksum);
  for (int shift = 0; shift < 48; shift += 16) {
    sum += static_cast<uint16_t>(~(old_mac >> shift)) + ((new_mac >> shift) & 0xffff);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Returns where the options of a neighbour discovery message start (RFC 4861, section 4), or 0 for
// another message.
uint32_t OptionsAt(uint8_t icmp_type) {
  switch (icmp_type) {
    case 133:  // router solicitation
      return 8;
    case 134:  // router advertisement
      return 16;
    case 135:  // neighbour solicitation
    case 136:  // neighbour advertisement
      return 24;
    default:
      return 0;
  }
}

void TranslateDiscovery(uint8_t* ip, uint32_t room, MacAddress to) {
  if (room < kIpv6Bytes + 8 || ip[6] != kIcmpv6) return;
  uint8_t* icmp = ip + kIpv6Bytes;
  const uint32_t announced = LoadBe16(ip + 4);
  const uint32_t bytes = announced < room - kIpv6Bytes ? announced : room - kIpv6Bytes;
  uint32_t at = OptionsAt(icmp[0]);
  if (at == 0) return;
  while (at + kMacOptionBytes <= bytes) {
    uint8_t* option = icmp + at;
    const uint32_t option_bytes = option[1] * 8u;
    if (option_bytes == 0) return;
    const bool holds_mac = option[0] == 1 || option[0] == 2;
    const MacAddress own = LoadMac(option + 2);
    if (holds_mac && option_bytes == kMacOptionBytes && !IsRowMac(own)) {
      StoreBe16(icmp + 2, Adjust(LoadBe16(icmp + 2), own, to));
      StoreMac(option + 2, to);
    }
    at += option_bytes;
  }
}

void TranslateSender(const Content& content, MacAddress as_row) {
  if (IsEthernetArp(content)) {
    uint8_t* sender = content.bytes + kArpSender;
    if (!IsRowMac(LoadMac(sender))) StoreMac(sender, as_row);
  } else if (content.type == kIpv6EtherType) {
    TranslateDiscovery(content.bytes, content.room, as_row);
  }
}

}  // namespace

MacAddress TranslateIn(uint8_t* bytes, uint32_t length, Row row) {
  const MacAddress host = LoadMac(bytes + 6);
  if (IsRowMac(host)) return 0;
  const MacAddress as_row = RowMac(row);
  StoreMac(bytes + 6, as_row);
  if (!IsPlainIpv4(bytes)) TranslateSender(ContentOf(bytes, length), as_row);
  return IsGroupMac(host) ? 0 : host;
}

void TranslateOut(uint8_t* bytes, uint32_t length, Row row, MacAddress host) {
  const MacAddress as_row = RowMac(row);
  if (LoadMac(bytes) == as_row) StoreMac(bytes, host);
  if (IsPlainIpv4(bytes)) return;
  const Content content = ContentOf(bytes, length);
  if (IsEthernetArp(content)) {
    uint8_t* target = content.bytes + kArpTarget;
    if (LoadMac(target) == as_row) StoreMac(target, host);
  }
}

}  // namespace bfly::dataplane
