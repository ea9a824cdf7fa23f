// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/host_transmitter.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "dataplane/frames/translate.h"

namespace bfly::dataplane {

HostTransmitter::HostTransmitter(const DeviceGate* gate, uint16_t queue, const LearnedMac* learned,
                                 double patience_seconds)
    : gate_(gate),
      queue_(queue),
      learned_(learned),
      patience_(static_cast<uint64_t>(patience_seconds * static_cast<double>(rte_get_tsc_hz()))) {}

HostTransmitter::~HostTransmitter() { Discard(); }

void HostTransmitter::Push(const Descriptor& packet, Ledger& ledger) {
  if (learned_ != nullptr) {
    if (const MacAddress host = learned_->Get(); host != 0) {
      TranslateOut(rte_pktmbuf_mtod(packet.mbuf, uint8_t*), packet.mbuf->data_len, packet.row,
                   host);
    }
  }
  if (end_ == kCapacity) {
    Offer(ledger);
    std::move(frames_ + begin_, frames_ + end_, frames_);
    std::move(bytes_ + begin_, bytes_ + end_, bytes_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == kCapacity) {
      counters_.Drop(DropReason::kPortFull, ledger);
      rte_pktmbuf_free(packet.mbuf);
      return;
    }
  }
  frames_[end_] = packet.mbuf;
  bytes_[end_] = packet.bytes;
  ++end_;
  if (end_ - begin_ == kBurst) Offer(ledger);
}

void HostTransmitter::Flush(Ledger& ledger) {
  if (begin_ == end_) return;
  const uint64_t now = rte_rdtsc();
  if (stuck_since_ == 0) stuck_since_ = now;
  Offer(ledger);
  if (stuck_since_ == 0 || now - stuck_since_ < patience_) return;
  counters_.Drop(DropReason::kPortFull, ledger, Discard());
}

void HostTransmitter::Offer(Ledger& ledger) {
  const uint32_t device = gate_->device();
  if (device == DeviceGate::kClosed) [[unlikely]]
    return;
  const uint16_t taken = rte_eth_tx_burst(static_cast<uint16_t>(device), queue_, frames_ + begin_,
                                          static_cast<uint16_t>(end_ - begin_));
  if (taken == 0) return;
  uint64_t bytes = 0;
  for (uint32_t i = begin_; i < begin_ + taken; ++i) bytes += bytes_[i];
  PortQueueCounters::Add(counters_.packets, taken);
  PortQueueCounters::Add(counters_.bytes, bytes);
  ledger.delivered += taken;
  begin_ += taken;
  stuck_since_ = 0;
  if (begin_ == end_) begin_ = end_ = 0;
}

uint64_t HostTransmitter::Discard() {
  const uint32_t waiting = end_ - begin_;
  if (waiting > 0) rte_pktmbuf_free_bulk(frames_ + begin_, waiting);
  begin_ = end_ = 0;
  return waiting;
}

}  // namespace bfly::dataplane
