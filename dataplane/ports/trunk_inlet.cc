// SPDX-License-Identifier: Apache-2.0
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/ports/trunk.h"
#include "dataplane/ports/whole_frame.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {
namespace {

// A queue is quiet if it got no frame for this long. Reordering does not take so long, and no
// sender starts again sooner.
uint64_t QuietTicks() { return TscHz() / 10; }

}  // namespace

TrunkInlet::TrunkInlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool,
                       std::vector<uint16_t> queues, bool keeps_queues, bool joins)
    : gate_(gate),
      rules_(rules),
      pool_(pool),
      queues_(std::move(queues)),
      keeps_queues_(keeps_queues),
      ticks_per_ns_(static_cast<double>(TscHz()) / 1e9),
      sequences_(static_cast<size_t>(rules.queues), TrunkSequence(QuietTicks(), joins)) {}

int TrunkInlet::Receive(Descriptor* burst, int room, Ledger& ledger) {
  const uint64_t now = rte_rdtsc();
  quiet_ = quiet_ + 1 == queues_.size() ? 0 : quiet_ + 1;
  if (const uint64_t lost = sequences_[queues_[quiet_]].Quiet(now)) CountLost(lost, ledger);
  const uint32_t device = gate_->device();
  if (device == DeviceGate::kClosed) [[unlikely]]
    return 0;
  int filled = 0;
  for (size_t polled = 0; polled < queues_.size() && filled < room; ++polled) {
    const uint16_t queue = queues_[next_];
    next_ = next_ + 1 == queues_.size() ? 0 : next_ + 1;
    rte_mbuf* frames[kBurst];
    const uint16_t count = rte_eth_rx_burst(static_cast<uint16_t>(device), queue, frames,
                                            static_cast<uint16_t>(std::min(room - filled, kBurst)));
    if (count == 0) continue;
    uint64_t bytes = 0;
    for (uint16_t i = 0; i < count; ++i) bytes += frames[i]->pkt_len;
    Bump(counters_.packets, count);
    Bump(counters_.bytes, bytes);
    for (uint16_t i = 0; i < count; ++i)
      filled += Admit(frames[i], queue, now, burst[filled], ledger);
  }
  return filled;
}

void TrunkInlet::CountLost(uint64_t packets, Ledger& ledger) {
  ledger.taken_over += packets;
  counters_.Drop(DropReason::kTrunkLost, ledger, packets);
}

bool TrunkInlet::TakeMessages(rte_mbuf* frame, DropReason& reason) {
  const uint8_t* const bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
  if (program_frames_ == nullptr || !IsProgramFrame(bytes, frame->data_len)) return false;
  const std::optional<DropReason> dropped = program_frames_->Take(bytes, frame->data_len);
  if (dropped.has_value()) {
    reason = *dropped;
    return false;
  }
  rte_pktmbuf_free(frame);
  return true;
}

bool TrunkInlet::Admit(rte_mbuf* frame, uint16_t queue, uint64_t now, Descriptor& out,
                       Ledger& ledger) {
  // A frame that the sender did not send enters and leaves the account here.
  const auto reject = [&](DropReason reason) {
    ++ledger.injected;
    counters_.Drop(reason, ledger);
    rte_pktmbuf_free(frame);
    return false;
  };
  if (frame->pkt_len > rules_.max_frame_bytes + kTrunkOverhead) {
    return reject(DropReason::kOversized);
  }
  if (!MakeWhole(frame, pool_)) return reject(DropReason::kPortFull);
  TrunkPacket packet;
  DropReason reason;
  if (!ReadTrunkFrame(rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len, rules_, packet,
                      reason)) {
    return TakeMessages(frame, reason) ? false : reject(reason);
  }
  // The worker may have other rows only, and another one may have the numbers of the queue.
  if (keeps_queues_ && (packet.queue != queue || TrunkQueueOf(packet.row, rules_) != queue)) {
    return reject(DropReason::kBadHeader);
  }
  const TrunkSequence::Step step =
      sequences_[packet.queue].Next(packet.session, packet.sequence, now);
  if (step.lost > 0) CountLost(step.lost, ledger);
  if (step.duplicates > 0) {
    ledger.injected += step.duplicates;
    counters_.Drop(DropReason::kTrunkDuplicate, ledger, step.duplicates);
  }
  if (step.foreign > 0) {
    ledger.injected += step.foreign;
    counters_.Drop(DropReason::kTrunkForeign, ledger, step.foreign);
  }
  if (!step.take) {
    rte_pktmbuf_free(frame);
    return false;
  }
  ++ledger.taken_over;
  if (packet.synthetic) {
    rte_pktmbuf_free(frame);
    frame = nullptr;
  } else {
    rte_pktmbuf_adj(frame, kTrunkOverhead);
    rte_pktmbuf_trim(frame, static_cast<uint16_t>(frame->data_len - packet.inner_bytes));
  }
  const auto age = static_cast<uint64_t>(static_cast<double>(packet.age_ns) * ticks_per_ns_);
  out = {.tag = packet.tag,
         .mbuf = frame,
         .time = now > age ? now - age : 0,
         .priority = packet.priority,
         .fixed = packet.fixed,
         .row = packet.row,
         .bytes = packet.inner_bytes,
         .input = packet.input,
         .arrival = now};
  return true;
}

}  // namespace bfly::dataplane
