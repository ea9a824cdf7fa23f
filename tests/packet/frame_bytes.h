// SPDX-License-Identifier: Apache-2.0
// Frames written byte by byte, so that tests do not depend on the code that they test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace bfly::dataplane {

using Bytes = std::vector<uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// "02 bf 00 ..." -> bytes.
inline Bytes Hex(const std::string& text) {
  Bytes bytes;
  int high = -1;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<uint8_t>(high * 16 + digit));
      high = -1;
    }
  }
  return bytes;
}

// `value` in network byte order.
inline Bytes Number(uint64_t value, int size) {
  Bytes bytes;
  for (int i = size - 1; i >= 0; --i) {
    bytes.push_back(i < 8 ? static_cast<uint8_t>(value >> (8 * i)) : 0);
  }
  return bytes;
}

inline Bytes Zeros(size_t size) { return Bytes(size, 0); }

// The same on every run and every machine.
inline Bytes Pattern(size_t size, uint8_t seed = 1) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed + i * 7);
  return bytes;
}

inline const Bytes kBroadcast = Hex("ff ff ff ff ff ff");
inline Bytes RowAddress(uint32_t row) { return Hex("02 bf 00") + Number(row, 3); }

inline Bytes Ethernet(const Bytes& to, const Bytes& from, uint16_t type,
                      const Bytes& payload = {}) {
  return to + from + Number(type, 2) + payload;
}

// operation 1 asks, 2 answers; addresses as in RFC 826.
inline Bytes Arp(uint16_t operation, const Bytes& sender, uint32_t sender_ip, const Bytes& target,
                 uint32_t target_ip) {
  return Hex("0001 0800 06 04") + Number(operation, 2) + sender + Number(sender_ip, 4) + target +
         Number(target_ip, 4);
}

// Without options and without a checksum, which the fabric does not look at.
inline Bytes Ipv4(uint32_t from, uint32_t to, const Bytes& payload = {}) {
  return Hex("45 00") + Number(20 + payload.size(), 2) + Hex("0000 0000 40 11 0000") +
         Number(from, 4) + Number(to, 4) + payload;
}

constexpr uint32_t Ip(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return (a << 24) | (b << 16) | (c << 8) | d;
}

}  // namespace bfly::dataplane
