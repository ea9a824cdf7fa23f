// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/translate.h"

#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint16_t kArpType = 0x0806;
constexpr uint16_t kIpv6Type = 0x86dd;
constexpr uint32_t kArpPacketBytes = 28;
constexpr uint32_t kArpSender = 8;
constexpr uint32_t kArpTarget = 18;
constexpr uint32_t kIpv6Bytes = 40;
constexpr uint8_t kIcmpv6 = 58;
constexpr uint32_t kMacOptionBytes = 8;

bool IsEthernetArp(const uint8_t* type, uint32_t room) {
  return LoadBe16(type) == kArpType && room >= kArpPacketBytes && LoadBe16(type + 2) == 1 &&
         type[6] == 6;
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

}  // namespace

MacAddress TranslateIn(uint8_t* bytes, uint32_t length, Row row) {
  const MacAddress host = LoadMac(bytes + 6);
  if (IsRowMac(host)) return 0;
  const MacAddress as_row = RowMac(row);
  StoreMac(bytes + 6, as_row);
  uint8_t* payload = bytes + kEthernetBytes;
  const uint32_t room = length - kEthernetBytes;
  if (IsEthernetArp(bytes + 12, room)) {
    if (!IsRowMac(LoadMac(payload + kArpSender))) StoreMac(payload + kArpSender, as_row);
  } else if (LoadBe16(bytes + 12) == kIpv6Type) {
    TranslateDiscovery(payload, room, as_row);
  }
  return IsGroupMac(host) ? 0 : host;
}

void TranslateOut(uint8_t* bytes, uint32_t length, Row row, MacAddress host) {
  const MacAddress as_row = RowMac(row);
  if (LoadMac(bytes) == as_row) StoreMac(bytes, host);
  if (IsEthernetArp(bytes + 12, length - kEthernetBytes)) {
    uint8_t* target = bytes + kEthernetBytes + kArpTarget;
    if (LoadMac(target) == as_row) StoreMac(target, host);
  }
}

}  // namespace bfly::dataplane
