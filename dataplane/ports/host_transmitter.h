// SPDX-License-Identifier: Apache-2.0
// Brings packets from the fabric to a transmit queue of a host port.
#pragma once

#include <algorithm>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/inlet.h"
#include "dataplane/core/ledger.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/learned_mac.h"
#include "dataplane/ports/port_queue_counters.h"

namespace bfly::dataplane {

// Buffers frames in front of one transmit queue, so that a slow device delays only its own frames.
// A frame that does not fit the buffer is dropped as kPortFull. One worker uses it.
class HostTransmitter {
 public:
  // If a device takes no frame for this long, the frames that wait for it are dropped. It is long
  // enough for a peer that the kernel does not schedule for a while.
  static constexpr double kPatienceSeconds = kOutletPatienceSeconds;

  // `learned` null: no address translation.
  HostTransmitter(const DeviceGate* gate, uint16_t queue, const LearnedMac* learned,
                  double patience_seconds = kPatienceSeconds);
  ~HostTransmitter();

  // Takes the packets at the front of `packets` that have a frame and whose row `is_mine`, at most
  // `count` and perhaps fewer: sends their frames now or in a later Flush, or drops them. The first
  // packet must be one of these packets. Returns how many it took.
  template <typename IsMine>
  int Push(const Descriptor* packets, int count, const IsMine& is_mine, Ledger& ledger) {
    if (end_ == kCapacity && !MakeRoom(packets[0].mbuf, ledger)) return 1;
    const uint32_t waiting = end_ - begin_;
    const uint32_t room =
        waiting < kBurst ? std::min(kBurst - waiting, kCapacity - end_) : kCapacity - end_;
    const int most = std::min(count, static_cast<int>(room));
    rte_mbuf** const frames = frames_ + end_;
    uint16_t* const bytes = bytes_ + end_;
    int n = 0;
    for (; n < most && packets[n].mbuf != nullptr && is_mine(packets[n].row); ++n) {
      frames[n] = packets[n].mbuf;
      bytes[n] = packets[n].bytes;
    }
    if (learned_ != nullptr) Translate(packets, n);
    end_ += static_cast<uint32_t>(n);
    if (end_ - begin_ == kBurst) Offer(ledger);
    return n;
  }
  // Once a pass: offers the buffered frames to the device. When the device has taken nothing for
  // kPatienceSeconds, the frames are dropped. From then on each frame is dropped in the pass that
  // brings it, until the device takes one.
  void Flush(Ledger& ledger);
  // Drops the buffered frames as kPortRemoved. After this call the worker makes no more calls.
  void Leave(Ledger& ledger);
  // Frees the buffered frames and returns their number.
  uint64_t Discard();

  uint64_t held() const { return end_ - begin_; }
  const PortQueueCounters& counters() const { return counters_; }

  static constexpr uint32_t kCapacity = 512;

 private:
  void Translate(const Descriptor* packets, int count) const;
  // Returns false if the device takes no frame from the full buffer. Then `frame` is dropped.
  bool MakeRoom(rte_mbuf* frame, Ledger& ledger);
  void Offer(Ledger& ledger);

  const DeviceGate* const gate_;
  const uint16_t queue_;
  const LearnedMac* const learned_;
  const uint64_t patience_;  // in TSC ticks
  // TSC of the first pass in which the device took no frame; 0: it takes frames.
  uint64_t stuck_since_ = 0;
  // The frames in [begin_, end_) wait. They move to the front when the end of the buffer is
  // reached.
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  rte_mbuf* frames_[kCapacity];
  uint16_t bytes_[kCapacity];
  PortQueueCounters counters_;
};

}  // namespace bfly::dataplane
