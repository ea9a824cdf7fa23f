// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/trunk_frame.h"

#include <algorithm>
#include <bit>

#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint64_t kMaxAge = (uint64_t{1} << 48) - 1;
constexpr MacAddress kSender = kTrunkMac;
constexpr MacAddress kQueueOfReceiver = 0xff00;

}  // namespace

TrunkRules MakeTrunkRules(const Network& network, int after_stage, int queues,
                          uint32_t max_frame_bytes) {
  return {.rows = network.rows(),
          .stage = after_stage,
          .hops_left = network.hops() - after_stage - 1,
          .tags = network.tag_layout(),
          .queues = queues,
          .max_frame_bytes = max_frame_bytes};
}

std::vector<Row> TrunkRowsOf(int queue, const TrunkRules& rules) {
  std::vector<Row> rows;
  for (Row row = 0; row < rules.rows; ++row) {
    if (TrunkQueueOf(row, rules) == static_cast<uint32_t>(queue)) rows.push_back(row);
  }
  return rows;
}

void WriteTrunkHeader(const TrunkPacket& packet, const TrunkRules& rules, uint8_t* out) {
  StoreMac(out, TrunkReceiverMac(packet.queue));
  StoreMac(out + 6, kSender);
  StoreBe16(out + 12, kBflyEtherType);
  TrunkHeader trunk;
  WireHeader& h = trunk.wire;
  h.version = kWireVersion;
  h.type = static_cast<uint8_t>(WireType::kTrunk);
  h.header_bytes = sizeof(TrunkHeader);
  h.flags =
      static_cast<uint8_t>((packet.synthetic ? kWireSynthetic : 0) |
                           (packet.fixed && rules.tags.multiplicity > 1 ? kWireFixedPorts : 0) |
                           packet.priority << kWirePriorityShift);
  StoreBe32(h.row, packet.row);
  StoreBe64(h.tag, packet.tag);
  StoreBe32(h.sequence, static_cast<uint32_t>(packet.sequence));
  h.stage = static_cast<uint8_t>(rules.stage);
  h.queue = packet.queue;
  StoreBe16(h.inner_bytes, packet.inner_bytes);
  const uint64_t age = std::min(packet.age_ns, kMaxAge);
  StoreBe16(h.age, static_cast<uint16_t>(age >> 32));
  StoreBe32(h.age + 2, static_cast<uint32_t>(age));
  StoreBe16(h.input, packet.input);
  StoreBe32(trunk.session, packet.session);
  StoreBe32(trunk.sequence_high, static_cast<uint32_t>(packet.sequence >> 32));
  std::memcpy(out + kEthernetBytes, &trunk, sizeof(trunk));
}

bool ReadTrunkFrame(const uint8_t* bytes, uint32_t length, const TrunkRules& rules,
                    TrunkPacket& packet, DropReason& reason) {
  reason = DropReason::kTruncated;
  if (length < kEthernetBytes) return false;
  reason = DropReason::kNotForFabric;
  const MacAddress to = LoadMac(bytes);
  if ((to & ~kQueueOfReceiver) != TrunkReceiverMac(0)) return false;
  if (LoadBe16(bytes + 12) != kBflyEtherType) return false;
  reason = DropReason::kTruncated;
  if (length < kTrunkOverhead) return false;
  TrunkHeader trunk;
  std::memcpy(&trunk, bytes + kEthernetBytes, sizeof(trunk));
  const WireHeader& h = trunk.wire;
  packet.tag = LoadBe64(h.tag);
  packet.row = LoadBe32(h.row);
  packet.session = LoadBe32(trunk.session);
  packet.sequence = uint64_t{LoadBe32(trunk.sequence_high)} << 32 | LoadBe32(h.sequence);
  packet.inner_bytes = LoadBe16(h.inner_bytes);
  packet.input = LoadBe16(h.input);
  packet.age_ns = uint64_t{LoadBe16(h.age)} << 32 | LoadBe32(h.age + 2);
  packet.queue = h.queue;
  packet.synthetic = h.flags & kWireSynthetic;
  packet.fixed = h.flags & kWireFixedPorts;
  packet.priority = (h.flags & kWirePriority) >> kWirePriorityShift;
  reason = DropReason::kBadHeader;
  const int tag_bits = rules.hops_left * rules.tags.field_bits;
  const uint8_t flags =
      kWireSynthetic | kWirePriority | (rules.tags.multiplicity > 1 ? kWireFixedPorts : 0);
  const bool honest =
      h.version == kWireVersion && h.type == static_cast<uint8_t>(WireType::kTrunk) &&
      h.header_bytes == sizeof(TrunkHeader) && (h.flags & ~flags) == 0 && h.stage == rules.stage &&
      h.queue < rules.queues && to == TrunkReceiverMac(h.queue) && packet.row < rules.rows &&
      packet.tag != 0 && std::countr_zero(packet.tag) == 63 - tag_bits &&
      (tag_bits == 0 || rules.tags.HasOnlyPorts(FromWire(packet.tag, tag_bits), rules.hops_left));
  if (!honest) return false;
  if (packet.synthetic) {
    if (packet.inner_bytes < kShortestSynthetic) return false;
  } else if (packet.inner_bytes > length - kTrunkOverhead || packet.inner_bytes < kEthernetBytes) {
    return false;
  }
  reason = DropReason::kOversized;
  return packet.inner_bytes <= rules.max_frame_bytes;
}

}  // namespace bfly::dataplane
