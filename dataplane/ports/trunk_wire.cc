// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trunk_wire.h"

#include <rte_ethdev.h>

#include <cstring>

#include "dataplane/ports/whole_frame.h"

namespace bfly::dataplane {
namespace {

constexpr uint16_t kFramesAtATime = 32;

}  // namespace

bool TrunkWire::Send(const uint8_t* frame, int length) {
  const uint32_t device = gate_->device();
  if (device == DeviceGate::kClosed) return false;
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
  if (mbuf == nullptr) return false;
  char* const bytes = rte_pktmbuf_append(mbuf, static_cast<uint16_t>(length));
  if (bytes != nullptr) std::memcpy(bytes, frame, static_cast<size_t>(length));
  if (bytes == nullptr || rte_eth_tx_burst(static_cast<uint16_t>(device), 0, &mbuf, 1) == 0) {
    rte_pktmbuf_free(mbuf);
    return false;
  }
  Bump(sent_.packets, 1);
  Bump(sent_.bytes, static_cast<uint64_t>(length));
  return true;
}

void TrunkWire::Receive(ProgramFrames& to, Ledger& ledger) {
  const uint32_t device = gate_->device();
  if (device == DeviceGate::kClosed) return;
  for (uint16_t queue = 0; queue < queues_; ++queue) {
    rte_mbuf* frames[kFramesAtATime];
    const uint16_t count =
        rte_eth_rx_burst(static_cast<uint16_t>(device), queue, frames, kFramesAtATime);
    for (uint16_t i = 0; i < count; ++i) Take(frames[i], to, ledger);
  }
}

// A frame that is dropped enters and leaves the account here.
void TrunkWire::Take(rte_mbuf* frame, ProgramFrames& to, Ledger& ledger) {
  Bump(received_.packets, 1);
  Bump(received_.bytes, frame->pkt_len);
  std::optional<DropReason> dropped = DropReason::kPortFull;
  if (MakeWhole(frame, pool_)) {
    dropped = to.Take(rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len);
  }
  if (dropped.has_value()) {
    ++ledger.injected;
    received_.Drop(*dropped, ledger);
  }
  rte_pktmbuf_free(frame);
}

}  // namespace bfly::dataplane
