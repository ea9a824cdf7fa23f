// SPDX-License-Identifier: Apache-2.0
// From the fabric to a transmit queue of a host port.
#pragma once

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/learned_mac.h"
#include "dataplane/ports/port_queue_counters.h"

namespace bfly::dataplane {

// Buffers frames in front of one transmit queue, so that a slow device delays its own frames and
// nobody else's: what its buffer cannot hold is dropped as kPortFull. Used by one worker.
class HostTransmitter {
 public:
  // How long a device may take nothing before the frames that wait for it are dropped. A peer that
  // the kernel schedules away for a while loses nothing.
  static constexpr double kPatienceSeconds = 0.1;

  // `learned` null: addresses are not translated.
  HostTransmitter(const DeviceGate* gate, uint16_t queue, const LearnedMac* learned,
                  double patience_seconds = kPatienceSeconds);
  ~HostTransmitter();

  // Takes `packet` with its frame: sends it now or in a later Flush, or drops it.
  void Push(const Descriptor& packet, Ledger& ledger);
  // Once a pass: offers the device what is buffered. When the device has taken nothing for as long
  // as the patience lasts, the frames are dropped, and later frames are dropped in the pass that
  // brings them until the device takes one.
  void Flush(Ledger& ledger);
  // Frees what is buffered and returns how many frames that were.
  uint64_t Discard();

  uint64_t held() const { return end_ - begin_; }
  const PortQueueCounters& counters() const { return counters_; }

  static constexpr int kCapacity = 512;

 private:
  void Offer(Ledger& ledger);

  const DeviceGate* const gate_;
  const uint16_t queue_;
  const LearnedMac* const learned_;
  const uint64_t patience_;   // in TSC ticks
  uint64_t stuck_since_ = 0;  // TSC of the pass that found it stuck; 0: it takes frames
  // Waiting: [begin_, end_). Moved to the front when the end is reached.
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  rte_mbuf* frames_[kCapacity];
  uint16_t bytes_[kCapacity];
  PortQueueCounters counters_;
};

}  // namespace bfly::dataplane
