// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/frame.h"

#include <algorithm>
#include <bit>

#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint16_t kArp = 0x0806;
constexpr uint32_t kArpBytes = 28;
constexpr uint32_t kArpTargetAddress = 24;
constexpr uint32_t kIpv4Bytes = 20;

Verdict Drop(DropReason reason) { return {.kind = Verdict::Kind::kDrop, .reason = reason}; }
Verdict Flood() { return {.kind = Verdict::Kind::kFlood}; }
Verdict ToRow(Row row, const FrameRules& rules) {
  if (row >= rules.rows) return Drop(DropReason::kUnknownRow);
  return {.kind = Verdict::Kind::kRow, .output = row};
}

struct Payload {
  const uint8_t* bytes;
  uint32_t length;       // readable
  uint32_t wire_length;  // announced by the device
};

Verdict ParseTester(const Payload& p, const FrameRules& rules) {
  if (p.length < sizeof(WireHeader)) return Drop(DropReason::kTruncated);
  WireHeader h;
  std::memcpy(&h, p.bytes, sizeof(h));
  const Row row = LoadBe32(h.row);
  const WireTag tag = LoadBe64(h.tag);
  const bool names_input = h.flags & kWireNamesInput;
  const uint8_t flags = kWireNamesInput | (rules.tags.multiplicity > 1 ? kWireFixedPorts : 0);
  const bool honest =
      h.version == kWireVersion && h.type == static_cast<uint8_t>(WireType::kTester) &&
      h.header_bytes == sizeof(WireHeader) && (h.flags & ~flags) == 0 && h.stage == 0 &&
      h.queue == 0 && row < rules.rows && (names_input || row == 0) &&
      LoadBe16(h.inner_bytes) <= p.wire_length - sizeof(WireHeader) && tag != 0 &&
      std::countr_zero(tag) == 63 - rules.tags.bits() &&
      rules.tags.HasOnlyPorts(FromWire(tag, rules.tags.bits()), rules.tags.hops);
  if (!honest) return Drop(DropReason::kBadHeader);
  return {.kind = Verdict::Kind::kTag,
          .names_input = names_input,
          .input = row,
          .output = rules.last_hops.OutputOf(
              static_cast<Row>(rules.tags.Directions(FromWire(tag, rules.tags.bits()))) &
              (rules.rows - 1)),
          .tag = tag,
          .fixed = rules.tags.multiplicity == 1 || (h.flags & kWireFixedPorts) != 0};
}

// Finds the offset of `address` in the block of row addresses. Returns false if it lies outside.
bool InBlock(uint32_t address, const FrameRules& rules, uint32_t& offset) {
  offset = address - rules.ipv4_base;
  return rules.ipv4_addresses == 0 || offset < rules.ipv4_addresses;
}

Verdict ParseArp(const Payload& p, const FrameRules& rules) {
  if (p.length < kArpBytes) return Drop(DropReason::kTruncated);
  // ARP must be for Ethernet and IPv4, with addresses of 6 and 4 bytes.
  if (LoadBe64(p.bytes) >> 16 != 0x000108000604) return Drop(DropReason::kNotForFabric);
  uint32_t row;
  if (!InBlock(LoadBe32(p.bytes + kArpTargetAddress), rules, row)) {
    return Drop(DropReason::kNotForFabric);
  }
  return ToRow(row, rules);
}

Verdict ParseIpv4(const Payload& p, MacAddress to, const FrameRules& rules) {
  if (p.length < kIpv4Bytes) return Drop(DropReason::kTruncated);
  const uint32_t header_bytes = (p.bytes[0] & 15) * 4u;
  if (p.bytes[0] >> 4 != 4 || header_bytes < kIpv4Bytes) return Drop(DropReason::kNotForFabric);
  const uint32_t total = LoadBe16(p.bytes + 2);
  if (header_bytes > p.wire_length || total > p.wire_length) return Drop(DropReason::kTruncated);
  uint32_t row;
  if (InBlock(LoadBe32(p.bytes + 16), rules, row)) return ToRow(row, rules);
  return IsGroupMac(to) ? Flood() : Drop(DropReason::kNotForFabric);
}

}  // namespace

FrameRules MakeFrameRules(const Network& network, const AddressingConfig& addressing,
                          uint32_t max_frame_bytes) {
  const int host_bits = 32 - addressing.ipv4_prefix_len;
  return {.mode = addressing.mode,
          .ipv4_base = addressing.ipv4_base,
          .ipv4_addresses = host_bits < 32 ? 1u << host_bits : 0,
          .rows = network.rows(),
          .tags = network.tag_layout(),
          .last_hops = LastHopsOf(network),
          .max_frame_bytes = max_frame_bytes};
}

uint8_t PriorityOf(const uint8_t* bytes, uint32_t length) {
  if (length < kEthernetBytes + 2) return 0;
  const uint16_t type = LoadBe16(bytes + 12);
  if (IsVlanType(type)) return bytes[kEthernetBytes] >> 5;
  return DscpPriority(type, bytes + kEthernetBytes);
}

Verdict ParseFrame(const uint8_t* bytes, uint32_t length, uint32_t wire_length,
                   const FrameRules& rules) {
  length = std::min(length, wire_length);
  if (length < kEthernetBytes) return Drop(DropReason::kTruncated);
  if (wire_length > rules.max_frame_bytes) return Drop(DropReason::kOversized);
  const MacAddress to = LoadMac(bytes);
  uint16_t type = LoadBe16(bytes + 12);
  uint32_t at = kEthernetBytes;
  for (int tags = 0; IsVlanType(type) && tags < kMaxVlanTags; ++tags) {
    if (length < at + 4) return Drop(DropReason::kTruncated);
    type = LoadBe16(bytes + at + 2);
    at += 4;
  }
  const Payload payload{bytes + at, length - at, wire_length - at};
  if (type == kBflyEtherType) return ParseTester(payload, rules);
  if (rules.mode == AddressingMode::kMac) {
    if (IsRowMac(to)) return ToRow(RowOfMac(to), rules);
    return IsGroupMac(to) ? Flood() : Drop(DropReason::kNotForFabric);
  }
  if (type == kIpv4EtherType) return ParseIpv4(payload, to, rules);
  if (type == kArp) return ParseArp(payload, rules);
  return IsGroupMac(to) ? Flood() : Drop(DropReason::kNotForFabric);
}

}  // namespace bfly::dataplane
