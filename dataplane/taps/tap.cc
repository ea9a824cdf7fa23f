// SPDX-License-Identifier: Apache-2.0
#include "dataplane/taps/tap.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>

#include "dataplane/taps/tap_table.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {
namespace {

constexpr size_t kMostSlots = 16'384;

uint32_t SlotsFor(uint32_t snaplen) {
  const size_t slots = kTapRingBytes / (sizeof(TappedFrame) + snaplen);
  return static_cast<uint32_t>(std::bit_floor(std::min(slots, kMostSlots)));
}

}  // namespace

void TapWriter::Note(const Descriptor& packet, const TapRule& rule) {
  Bump(seen_, 1);
  if (passed_ != 0) {
    passed_ = passed_ + 1 == every_ ? 0 : passed_ + 1;
    return;
  }
  passed_ = every_ == 1 ? 0 : 1;
  const rte_mbuf* const mbuf = packet.mbuf;
  const uint32_t there = mbuf == nullptr ? 0 : mbuf->data_len;
  TappedFrame frame;
  frame.arrival = ArrivalOf(packet);
  frame.copied = rte_rdtsc();
  frame.birth = packet.time;
  frame.tag = packet.tag;
  frame.number = rule.number;
  frame.row = rule.row;
  frame.stage = rule.stage;
  frame.bytes = packet.bytes;
  frame.kept = static_cast<uint16_t>(std::min(there, ring_.snaplen()));
  frame.input = packet.input;
  frame.place = rule.place;
  frame.priority = static_cast<uint8_t>(packet.priority);
  frame.fixed = packet.fixed != 0;
  ring_.Offer(frame, mbuf == nullptr ? nullptr : rte_pktmbuf_mtod(mbuf, const uint8_t*));
}

Tap::Tap(const TapConfig& config, size_t workers) : config_(config) {
  for (size_t w = 0; w < workers; ++w) {
    writers_.push_back(
        std::make_unique<TapWriter>(SlotsFor(config.snaplen), config.snaplen, config.every));
  }
}

uint64_t Tap::Now() { return rte_rdtsc(); }

TapCounts Tap::counts() const {
  TapCounts sum;
  for (const auto& writer : writers_) {
    sum.seen += writer->seen();
    sum.copied += writer->ring().taken();
    sum.dropped += writer->ring().dropped();
  }
  return sum;
}

}  // namespace bfly::dataplane
