// SPDX-License-Identifier: Apache-2.0
// From the fabric to a transmit queue of a host port.
#pragma once

#include "dataplane/fabric/descriptor.h"
#include "dataplane/fabric/ledger.h"
#include "dataplane/ports/learned_mac.h"
#include "dataplane/ports/port_queue_counters.h"

namespace bfly::dataplane {

// Buffers frames in front of one transmit queue, so that a slow device delays its own frames and
// nobody else's: what its buffer cannot hold is dropped as kPortFull. Used by one worker.
class HostTransmitter {
 public:
  // `learned` null: addresses are not translated.
  HostTransmitter(uint16_t device, uint16_t queue, const LearnedMac* learned)
      : device_(device), queue_(queue), learned_(learned) {}
  ~HostTransmitter();

  // Takes `packet` with its frame: sends it now or in a later Flush, or drops it.
  void Push(const Descriptor& packet, Ledger& ledger);
  // Once a pass: offers the device what is buffered. A device that took nothing in kPatience passes
  // gets no more of them kept for it.
  void Flush(Ledger& ledger);
  // Frees what is buffered and returns how many frames that were.
  uint64_t Discard();

  uint64_t held() const { return end_ - begin_; }
  const PortQueueCounters& counters() const { return counters_; }

  static constexpr int kCapacity = 512;
  static constexpr int kPatience = 1024;

 private:
  void Offer(Ledger& ledger);

  const uint16_t device_;
  const uint16_t queue_;
  const LearnedMac* const learned_;
  int fruitless_passes_ = 0;
  // Waiting: [begin_, end_). Moved to the front when the end is reached.
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  rte_mbuf* frames_[kCapacity];
  uint16_t bytes_[kCapacity];
  PortQueueCounters counters_;
};

}  // namespace bfly::dataplane
