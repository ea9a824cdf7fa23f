// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/host_transmitter.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/frames/translate.h"

namespace bfly::dataplane {

HostTransmitter::HostTransmitter(const DeviceGate* gate, uint16_t queue, const LearnedMac* learned,
                                 double patience_seconds)
    : gate_(gate),
      queue_(queue),
      learned_(learned),
      patience_(static_cast<uint64_t>(patience_seconds * static_cast<double>(TscHz()))) {}

HostTransmitter::~HostTransmitter() { Discard(); }

void HostTransmitter::Translate(const Descriptor* packets, int count) const {
  const MacAddress host = learned_->Get();
  if (host == 0) return;
  for (int i = 0; i < count; ++i) {
    rte_mbuf* const frame = packets[i].mbuf;
    TranslateOut(rte_pktmbuf_mtod(frame, uint8_t*), frame->data_len, packets[i].row, host);
  }
}

bool HostTransmitter::MakeRoom(rte_mbuf* frame, Ledger& ledger) {
  Offer(ledger);
  std::move(frames_ + begin_, frames_ + end_, frames_);
  std::move(bytes_ + begin_, bytes_ + end_, bytes_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ < kCapacity) return true;
  counters_.Drop(DropReason::kPortFull, ledger);
  rte_pktmbuf_free(frame);
  return false;
}

void HostTransmitter::Flush(Ledger& ledger) {
  if (begin_ == end_) return;
  const uint64_t now = rte_rdtsc();
  if (stuck_since_ == 0) stuck_since_ = now;
  Offer(ledger);
  if (stuck_since_ == 0 || now - stuck_since_ < patience_) return;
  counters_.Drop(DropReason::kPortFull, ledger, Discard());
}

void HostTransmitter::Leave(Ledger& ledger) {
  counters_.Drop(DropReason::kPortRemoved, ledger, Discard());
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
  Bump(counters_.packets, taken);
  Bump(counters_.bytes, bytes);
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
