// SPDX-License-Identifier: Apache-2.0
// Any bytes at all arrive at a port: reading them stays inside them and comes to a verdict inside
// the network. The first byte of an input chooses the rules, the rest is the frame.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "dataplane/frames/frame.h"
#include "dataplane/frames/translate.h"
#include "dataplane/frames/trunk_frame.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/programs/message_stream.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {
namespace {

void Require(bool what) {
  if (!what) std::abort();
}

FrameRules Rules(uint8_t choice) {
  FrameRules rules{.mode = choice & 1 ? AddressingMode::kIpv4Prefix : AddressingMode::kMac,
                   .ipv4_base = 0x0a4d0010,
                   .ipv4_addresses = choice & 2 ? 16u : 0u,
                   .rows = 16,
                   .tags = TagLayout::Of(choice & 4 ? 8 : 4, choice & 16 ? 3 : 1),
                   .max_frame_bytes = choice & 8 ? 64u : 1518u};
  return rules;
}

// A buffer that ends where the frame ends, so that the sanitizer sees the first byte too far.
struct Exact {
  Exact(const uint8_t* from, size_t size) : bytes(new uint8_t[size]) {
    if (size > 0) std::memcpy(bytes.get(), from, size);
  }
  // The same with the bytes of `more` put in at `at`, which come to `size` bytes together.
  template <size_t kMore>
  Exact(const uint8_t* from, size_t size, size_t at, const uint8_t (&more)[kMore])
      : bytes(new uint8_t[size]) {
    std::memcpy(bytes.get(), from, at);
    std::memcpy(bytes.get() + at, more, kMore);
    std::memcpy(bytes.get() + at + kMore, from + at, size - at - kMore);
  }
  std::unique_ptr<uint8_t[]> bytes;
};

void ParsesInsideTheNetwork(const uint8_t* bytes, uint32_t length, const FrameRules& rules) {
  for (uint32_t wire_length : {length, length / 2, length + 100}) {
    const Verdict v = ParseFrame(bytes, length, wire_length, rules);
    if (v.kind == Verdict::Kind::kDrop || v.kind == Verdict::Kind::kFlood) continue;
    Require(v.output < rules.rows && v.input < rules.rows);
    Require(wire_length <= rules.max_frame_bytes);
    Require((v.kind == Verdict::Kind::kTag) == (v.tag != 0));
  }
}

// A frame is translated as the same frame with one VLAN tag more, but only two tags are stepped
// over.
void TranslatesBehindATagAsWithoutIt(const uint8_t* bytes, uint32_t length, Row row) {
  if (length < kEthernetBytes) return;
  const bool tagged = IsVlanType(LoadBe16(bytes + 12));
  if (tagged && (length < kEthernetBytes + 4 || IsVlanType(LoadBe16(bytes + 16)))) return;
  constexpr uint32_t kAddresses = 12, kTag = 4;
  constexpr uint8_t kOneTag[kTag] = {0x81, 0x00, 0x60, 0x64};
  const Exact plain(bytes, length), longer(bytes, length + kTag, kAddresses, kOneTag);
  const MacAddress host = TranslateIn(plain.bytes.get(), length, row);
  Require(TranslateIn(longer.bytes.get(), length + kTag, row) == host);
  const auto alike = [&] {
    return std::memcmp(plain.bytes.get(), longer.bytes.get(), kAddresses) == 0 &&
           std::memcmp(kOneTag, longer.bytes.get() + kAddresses, kTag) == 0 &&
           std::memcmp(plain.bytes.get() + kAddresses, longer.bytes.get() + kAddresses + kTag,
                       length - kAddresses) == 0;
  };
  Require(alike());
  TranslateOut(plain.bytes.get(), length, row, 0x525400000001);
  TranslateOut(longer.bytes.get(), length + kTag, row, 0x525400000001);
  Require(alike());
}

// The parsers say the same about a frame as the quick look.
void LooksQuicklyAsItParses(const uint8_t* bytes, uint32_t length, const FrameRules& rules) {
  PlainFrame plain;
  if (rules.mode != AddressingMode::kMac || length > rules.max_frame_bytes) return;
  if (!ReadPlainFrame(bytes, length, rules, plain)) return;
  const Verdict v = ParseFrame(bytes, length, length, rules);
  Require(v.kind == Verdict::Kind::kRow && v.output == plain.output);
  Require(PriorityOf(bytes, length) == plain.priority);
}

// What goes in at a row and comes back out there is the host's own frame again.
void TranslatesBackAndForth(uint8_t* bytes, uint32_t length, Row row) {
  if (length < kEthernetBytes) return;
  const Exact before(bytes, length);
  const MacAddress host = TranslateIn(bytes, length, row);
  if (host != 0) {
    Require(LoadMac(before.bytes.get() + 6) == host && LoadMac(bytes + 6) == RowMac(row));
  }
  Require(TranslateIn(bytes, length, row) == 0);
  TranslateOut(bytes, length, row, 0x525400000001);
  Require(LoadMac(bytes) != RowMac(row));
}

// A trunk header that is accepted is the one that would be written, but for the sender's address.
void ReadsTrunkFramesAsWritten(const uint8_t* bytes, uint32_t length, uint8_t choice) {
  const TrunkRules rules{.rows = 16,
                         .stage = 1,
                         .hops_left = choice & 4 ? 6 : 2,
                         .queues = 4,
                         .max_frame_bytes = 1518};
  TrunkPacket packet;
  DropReason reason;
  if (!ReadTrunkFrame(bytes, length, rules, packet, reason)) return;
  uint8_t again[kTrunkOverhead];
  WriteTrunkHeader(packet, rules, again);
  Require(std::memcmp(again, bytes, 6) == 0);
  Require(std::memcmp(again + 12, bytes + 12, sizeof(again) - 12) == 0);
  Require(packet.synthetic ? packet.inner_bytes >= 64
                           : packet.inner_bytes + kTrunkOverhead <= static_cast<int>(length));
  Require(packet.inner_bytes <= rules.max_frame_bytes);
  Require(TrunkQueueOf(packet.row, rules) < 4);
}

// Messages of programs that are accepted are those that would be written, but for the sender's
// address and the padding, and whoever takes them gets no more than a pass may have.
void ReadsProgramFramesAsWritten(const uint8_t* bytes, uint32_t length, uint8_t choice) {
  const ProgramFrameRules rules{
      .rows = 16, .stages = choice & 4 ? 8 : 4, .stage = 1, .messages = 60, .passes = 7};
  ProgramFrame frame;
  Message messages[kMessagesAFrame];
  DropReason reason;
  if (!ReadProgramFrame(bytes, length, rules, frame, messages, reason)) return;
  Require(IsProgramFrame(bytes, length));
  uint8_t again[kLongestProgramFrame];
  WriteProgramFrame(frame, rules, messages, again);
  const int written = kProgramOverhead + frame.messages * kProgramMessageBytes;
  Require(std::memcmp(again, bytes, 6) == 0);
  Require(std::memcmp(again + 12, bytes + 12, static_cast<size_t>(written - 12)) == 0);
  for (int i = 0; i < frame.messages; ++i) {
    Require(messages[i].row < rules.rows);
    Require(messages[i].marker != Marker::kNone || messages[i].tag >> rules.stages == 0);
  }
  if (frame.lost) return;
  MessageReceiver receiver(/*forward=*/!frame.back, 2 * rules.rows);
  if (frame.back) receiver.Begin(frame.run);
  if (receiver.Take(frame, messages) != MessageReceiver::Verdict::kTake) return;
  Require(receiver.total() <= 2 * rules.rows && receiver.run() == frame.run);
  Require(receiver.Take(frame, messages) == MessageReceiver::Verdict::kAgain);
}

}  // namespace
}  // namespace bfly::dataplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace bfly::dataplane;
  if (size == 0) return 0;
  const uint8_t choice = input[0];
  const Exact frame(input + 1, size - 1);
  const auto length = static_cast<uint32_t>(size - 1);
  ParsesInsideTheNetwork(frame.bytes.get(), length, Rules(choice));
  ReadsTrunkFramesAsWritten(frame.bytes.get(), length, choice);
  ReadsProgramFramesAsWritten(frame.bytes.get(), length, choice);
  LooksQuicklyAsItParses(frame.bytes.get(), length, Rules(choice));
  TranslatesBehindATagAsWithoutIt(frame.bytes.get(), length, choice & 15);
  TranslatesBackAndForth(frame.bytes.get(), length, choice & 15);
  return 0;
}
