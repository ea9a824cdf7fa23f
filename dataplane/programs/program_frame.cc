// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/program_frame.h"

#include <algorithm>
#include <cstring>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {
namespace {

constexpr int kShortestFrame = 60;
// Trunks recognize their frames by this address (frames/trunk_frame.cc, xdp/edge.bpf.c).
constexpr MacAddress kToTrunk = TrunkReceiverMac(0);

// A message as it lies in a frame.
struct MessageOnWire {
  uint8_t tag[8];
  uint8_t row[4];
  uint8_t slot[4];
  uint8_t value[4];
  uint8_t notes[3];
  uint8_t marker;
};
static_assert(sizeof(MessageOnWire) == kProgramMessageBytes && alignof(MessageOnWire) == 1);

void Write(const Message& message, uint8_t* out) {
  MessageOnWire wire;
  StoreBe64(wire.tag, message.tag);
  StoreBe32(wire.row, message.row);
  StoreBe32(wire.slot, message.slot);
  StoreBe32(wire.value, message.value);
  std::copy(message.notes.begin(), message.notes.end(), wire.notes);
  wire.marker = static_cast<uint8_t>(message.marker);
  std::memcpy(out, &wire, sizeof(wire));
}

// Returns false if no sender of this network can have written the message.
bool Read(const uint8_t* bytes, const ProgramFrameRules& rules, Message& message) {
  MessageOnWire wire;
  std::memcpy(&wire, bytes, sizeof(wire));
  if (wire.marker > static_cast<uint8_t>(Marker::kEnd)) return false;
  message = {.tag = LoadBe64(wire.tag),
             .row = LoadBe32(wire.row),
             .slot = LoadBe32(wire.slot),
             .value = LoadBe32(wire.value),
             .notes = {wire.notes[0], wire.notes[1], wire.notes[2]},
             .marker = static_cast<Marker>(wire.marker)};
  return message.row < rules.rows &&
         (message.marker != Marker::kNone || message.tag >> rules.stages == 0);
}

bool MarkersFit(const ProgramFrame& frame, const ProgramFrameRules& rules,
                const Message* messages) {
  for (int i = 0; i < frame.messages; ++i) {
    const Message& m = messages[i];
    if (m.marker == Marker::kBegin &&
        (i != 0 || frame.back || m.tag != frame.run || m.slot >= rules.passes)) {
      return false;
    }
    if (m.marker == Marker::kEnd &&
        (i + 1 != frame.messages || m.slot != static_cast<uint32_t>(frame.run))) {
      return false;
    }
  }
  return true;
}

}  // namespace

ProgramFrameRules ProgramFrameRules::Of(const Network& network, int after_stage,
                                        uint32_t max_frame_bytes, uint32_t passes) {
  const int room = static_cast<int>(max_frame_bytes) + kTrunkOverhead - kProgramOverhead;
  return {.rows = network.rows(),
          .stages = network.stages(),
          .stage = after_stage,
          .messages = std::clamp(room / kProgramMessageBytes, 1, kMessagesAFrame),
          .passes = passes};
}

int WriteProgramFrame(const ProgramFrame& frame, const ProgramFrameRules& rules,
                      const Message* messages, uint8_t* out) {
  StoreMac(out, kToTrunk);
  StoreMac(out + 6, kTrunkMac);
  StoreBe16(out + 12, kBflyEtherType);
  ProgramHeader h = {};
  h.version = kWireVersion;
  h.type = static_cast<uint8_t>(WireType::kProgram);
  h.header_bytes = sizeof(ProgramHeader);
  h.flags = static_cast<uint8_t>((frame.back ? kProgramBack : 0) | (frame.lost ? kProgramLost : 0));
  h.stage = static_cast<uint8_t>(rules.stage);
  h.messages = static_cast<uint8_t>(frame.messages);
  h.lost_after = static_cast<uint8_t>(frame.lost_after);
  StoreBe64(h.run, frame.run);
  StoreBe32(h.number, frame.number);
  StoreBe32(h.total, frame.total);
  std::memcpy(out + kEthernetBytes, &h, sizeof(h));
  int length = kProgramOverhead;
  for (int i = 0; i < frame.messages; ++i, length += kProgramMessageBytes)
    Write(messages[i], out + length);
  if (length < kShortestFrame) {
    std::memset(out + length, 0, static_cast<size_t>(kShortestFrame - length));
  }
  return std::max(length, kShortestFrame);
}

bool IsProgramFrame(const uint8_t* bytes, uint32_t length) {
  return length >= kProgramOverhead && LoadMac(bytes) == kToTrunk &&
         LoadBe16(bytes + 12) == kBflyEtherType &&
         bytes[kEthernetBytes + 1] == static_cast<uint8_t>(WireType::kProgram);
}

bool ReadProgramFrame(const uint8_t* bytes, uint32_t length, const ProgramFrameRules& rules,
                      ProgramFrame& frame, Message* messages, DropReason& reason) {
  reason = DropReason::kTruncated;
  if (length < kEthernetBytes) return false;
  reason = DropReason::kNotForFabric;
  if (LoadMac(bytes) != kToTrunk || LoadBe16(bytes + 12) != kBflyEtherType) return false;
  reason = DropReason::kTruncated;
  if (length < kProgramOverhead) return false;
  ProgramHeader h;
  std::memcpy(&h, bytes + kEthernetBytes, sizeof(h));
  frame = {.run = LoadBe64(h.run),
           .number = LoadBe32(h.number),
           .total = LoadBe32(h.total),
           .messages = h.messages,
           .back = (h.flags & kProgramBack) != 0,
           .lost = (h.flags & kProgramLost) != 0,
           .lost_after = h.lost_after};
  reason = DropReason::kBadHeader;
  const bool honest =
      h.version == kWireVersion && h.type == static_cast<uint8_t>(WireType::kProgram) &&
      h.header_bytes == sizeof(ProgramHeader) && (h.flags & ~(kProgramBack | kProgramLost)) == 0 &&
      h.stage == rules.stage && h.zero == 0 && frame.lost == (frame.messages == 0) &&
      (frame.lost ? frame.back && frame.lost_after + 1 < rules.stages : frame.lost_after == 0) &&
      frame.messages <= kMessagesAFrame &&
      static_cast<uint32_t>(kProgramOverhead + frame.messages * kProgramMessageBytes) <= length;
  if (!honest) return false;
  for (int i = 0; i < frame.messages; ++i) {
    if (!Read(bytes + kProgramOverhead + i * kProgramMessageBytes, rules, messages[i]))
      return false;
  }
  return MarkersFit(frame, rules, messages);
}

}  // namespace bfly::dataplane
