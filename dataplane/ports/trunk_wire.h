// SPDX-License-Identifier: Apache-2.0
// The device of a trunk, for the messages of programs. Messages share the device with the trunk's
// data, which goes one way while messages go both ways.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "dataplane/in_band/program_wire.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/port_queue_counters.h"

namespace bfly::dataplane {

// The worker that carries the trunk's data calls it.
class TrunkWire final : public ProgramWire {
 public:
  // The device has `queues` queues. Messages are sent on the first one.
  TrunkWire(const DeviceGate* gate, int queues, rte_mempool* pool)
      : gate_(gate), queues_(static_cast<uint16_t>(queues)), pool_(pool) {}

  bool Send(const uint8_t* frame, int length) override;
  void Receive(ProgramFrames& to, Ledger& ledger) override;

  const PortQueueCounters& sent() const { return sent_; }
  const PortQueueCounters& received() const { return received_; }

 private:
  void Take(rte_mbuf* frame, ProgramFrames& to, Ledger& ledger);

  const DeviceGate* const gate_;
  const uint16_t queues_;
  rte_mempool* const pool_;
  PortQueueCounters sent_, received_;
};

}  // namespace bfly::dataplane
