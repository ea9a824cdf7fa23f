// SPDX-License-Identifier: Apache-2.0
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <random>
#include <utility>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/ports/trunk.h"

namespace bfly::dataplane {
namespace {

constexpr int kPadding = 60 - kTrunkOverhead;

// Draws a number that no earlier sender had and that outsiders cannot guess.
uint32_t DrawSession() { return std::random_device{}(); }

}  // namespace

TrunkOutlet::TrunkOutlet(const DeviceGate* gate, const TrunkRules& rules, rte_mempool* pool)
    : gate_(gate),
      rules_(rules),
      pool_(pool),
      ns_per_tick_(1e9 / static_cast<double>(TscHz())),
      patience_(static_cast<uint64_t>(kOutletPatienceSeconds * static_cast<double>(TscHz()))),
      session_(DrawSession()),
      queues_(static_cast<size_t>(rules.queues)) {}

int TrunkOutlet::Send(const Descriptor* burst, int count, Ledger& ledger) {
  const uint64_t now = rte_rdtsc();
  for (int i = 0; i < count; ++i) {
    const uint32_t q = TrunkQueueOf(burst[i].row, rules_);
    if (queues_[q].count == kBurst) Transmit(q, ledger);
    if (queues_[q].count == kBurst || !Append(burst[i], q, now)) return i;
  }
  return count;
}

bool TrunkOutlet::Append(const Descriptor& packet, uint32_t queue, uint64_t now) {
  Queue& q = queues_[queue];
  rte_mbuf* frame = packet.mbuf;
  if (frame == nullptr) {
    frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr) return false;
    // The shortest Ethernet frame has 60 bytes.
    std::memset(rte_pktmbuf_append(frame, kPadding), 0, kPadding);
  } else if (rte_pktmbuf_headroom(frame) < kTrunkOverhead) {
    frame = rte_pktmbuf_copy(packet.mbuf, pool_, 0, UINT32_MAX);
    if (frame == nullptr) return false;
    rte_pktmbuf_free(packet.mbuf);
  }
  const uint64_t age = now > packet.time ? now - packet.time : 0;
  WriteTrunkHeader({.tag = packet.tag,
                    .row = packet.row,
                    .session = session_,
                    .sequence = q.sequence++,
                    .inner_bytes = packet.bytes,
                    .input = packet.input,
                    .age_ns = static_cast<uint64_t>(static_cast<double>(age) * ns_per_tick_),
                    .queue = static_cast<uint8_t>(queue),
                    .priority = static_cast<uint8_t>(packet.priority),
                    .synthetic = packet.mbuf == nullptr,
                    .fixed = packet.fixed != 0},
                   rules_, reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(frame, kTrunkOverhead)));
  q.frames[q.count++] = frame;
  return true;
}

void TrunkOutlet::Transmit(uint32_t queue, Ledger& ledger) {
  const uint32_t device = gate_->device();
  Queue& q = queues_[queue];
  if (device == DeviceGate::kClosed) [[unlikely]]
    return WaitOrGiveUp(q, ledger);
  uint32_t lengths[kBurst];
  for (uint32_t i = 0; i < q.count; ++i) lengths[i] = q.frames[i]->pkt_len;
  const uint16_t taken =
      rte_eth_tx_burst(static_cast<uint16_t>(device), static_cast<uint16_t>(queue), q.frames,
                       static_cast<uint16_t>(q.count));
  if (taken == 0) return WaitOrGiveUp(q, ledger);
  q.stuck_since = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < taken; ++i) bytes += lengths[i];
  Bump(counters_.packets, taken);
  Bump(counters_.bytes, bytes);
  ledger.handed_on += taken;
  std::move(q.frames + taken, q.frames + q.count, q.frames);
  q.count -= taken;
}

void TrunkOutlet::WaitOrGiveUp(Queue& queue, Ledger& ledger) {
  const uint64_t now = rte_rdtsc();
  if (queue.stuck_since == 0) queue.stuck_since = now;
  if (now - queue.stuck_since < patience_) return;
  counters_.Drop(DropReason::kPortFull, ledger, Empty(queue));
}

void TrunkOutlet::Flush(Ledger& ledger) {
  for (uint32_t q = 0; q < queues_.size(); ++q) {
    if (queues_[q].count > 0) Transmit(q, ledger);
  }
}

uint64_t TrunkOutlet::held() const {
  uint64_t sum = 0;
  for (const Queue& q : queues_) sum += q.count;
  return sum;
}

uint64_t TrunkOutlet::Empty(Queue& queue) {
  if (queue.count > 0) rte_pktmbuf_free_bulk(queue.frames, queue.count);
  queue.sequence -= queue.count;
  return std::exchange(queue.count, 0);
}

uint64_t TrunkOutlet::Discard() {
  uint64_t sum = 0;
  for (Queue& q : queues_) sum += Empty(q);
  return sum;
}

}  // namespace bfly::dataplane
