// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/kernel_checksum.h"

#include <cstring>

namespace bfly::dataplane {
namespace {

constexpr uint32_t kLinkHeaderBytes = 14;
constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

uint32_t Be16At(const uint8_t* p) { return static_cast<uint32_t>(p[0]) << 8 | p[1]; }

// The unfolded sum of `bytes` for the Internet checksum (RFC 1071), in words of the machine's own
// byte order. One's complement sums in the other byte order are the same with bytes swapped, and
// the field is compared and stored in the machine's order too.
uint64_t Sum(const uint8_t* bytes, uint32_t length) {
  uint64_t sum = 0;
  uint32_t i = 0;
  for (; i + 4 <= length; i += 4) {
    uint32_t word;
    std::memcpy(&word, bytes + i, sizeof(word));
    sum += word;
  }
  uint32_t rest = 0;
  std::memcpy(&rest, bytes + i, length - i);
  return sum + rest;
}

uint16_t Fold(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

struct ChecksummedPart {
  uint8_t* bytes = nullptr;
  uint32_t length = 0;
  uint8_t protocol = 0;
  uint64_t address_sum = 0;
};

bool FindChecksummedPart(uint8_t* frame, uint32_t length, ChecksummedPart& segment) {
  uint32_t at = kLinkHeaderBytes;
  if (length < at) return false;
  uint32_t type = Be16At(frame + 12);
  for (int tags = 0; (type == 0x8100 || type == 0x88a8) && tags < 2; ++tags) {
    if (length < at + 4) return false;
    type = Be16At(frame + at + 2);
    at += 4;
  }
  uint8_t* ip = frame + at;
  const uint32_t present = length - at;
  if (type == 0x0800) {
    if (present < 20) return false;
    const uint32_t header = (ip[0] & 15) * 4u;
    const uint32_t total = Be16At(ip + 2);
    const bool fragment = (Be16At(ip + 6) & 0x3fff) != 0;
    if (ip[0] >> 4 != 4 || header < 20 || total < header || total > present || fragment) {
      return false;
    }
    segment = {ip + header, total - header, ip[9], Sum(ip + 12, 8)};
    return true;
  }
  if (type == 0x86dd) {
    if (present < 40 || ip[0] >> 4 != 6) return false;
    const uint32_t payload = Be16At(ip + 4);
    if (payload > present - 40) return false;
    segment = {ip + 40, payload, ip[6], Sum(ip + 8, 32)};
    return true;
  }
  return false;
}

}  // namespace

bool FinishChecksum(uint8_t* frame, uint32_t length) {
  ChecksummedPart segment;
  if (!FindChecksummedPart(frame, length, segment)) return false;
  uint32_t field_at;
  if (segment.protocol == kTcp && segment.length >= 20) {
    field_at = 16;
  } else if (segment.protocol == kUdp && segment.length >= 8) {
    field_at = 6;
  } else {
    return false;
  }
  const uint8_t tail[4] = {0, segment.protocol, static_cast<uint8_t>(segment.length >> 8),
                           static_cast<uint8_t>(segment.length)};
  const uint16_t pseudo = Fold(segment.address_sum + Sum(tail, sizeof(tail)));
  uint16_t field;
  std::memcpy(&field, segment.bytes + field_at, sizeof(field));
  if (field != pseudo) return false;

  // The sum includes the pseudo header, because the field holds it.
  field = static_cast<uint16_t>(~Fold(Sum(segment.bytes, segment.length)));
  if (field == 0 && segment.protocol == kUdp) field = 0xffff;  // 0 would mean "no checksum"
  if (field == pseudo) return false;
  std::memcpy(segment.bytes + field_at, &field, sizeof(field));
  return true;
}

}  // namespace bfly::dataplane
