// SPDX-License-Identifier: Apache-2.0
// The way back of packets that go by an intermediate row (Valiant load balancing: L. G. Valiant,
// "A scheme for fast parallel communication", 1982). They cross the network twice. Behind the last
// stage they turn back to the gate of the input row that has the number of their output row.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/core/ring.h"
#include "dataplane/slots/intermediate_row_tags.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// Drops and frees a packet that is on its way through the network. `bits` is how many bits of hops
// in its tag the packet has not crossed yet.
void DropOnWay(const Descriptor& packet, int bits, DropReason reason, Ledger& ledger);

// Stands behind the last stage. One worker uses it.
class TurnBackOut {
 public:
  // A packet at `row` goes to rings[ring_of_row[row]].
  TurnBackOut(std::vector<uint16_t> ring_of_row, std::vector<Ring*> rings)
      : ring_of_row_(std::move(ring_of_row)) {
    for (Ring* ring : rings) ways_.push_back({.ring = ring, .room = 0, .packets = {}});
  }

  // Takes the packets that turn back, and copies the others to `leaving`, in their order. Returns
  // how many these are. Packets for which a ring has no room are dropped as kQueueMemory.
  int Take(const Descriptor* burst, int count, Descriptor* leaving, Ledger& ledger);
  // Counts the packets that were taken as handed on. HandOver pushes them after the account was
  // published, so that no reader sees a packet as taken over before it sees it as handed on.
  void Settle(Ledger& ledger) { ledger.handed_on += std::exchange(taken_, 0); }
  void HandOver();
  // Any thread: how many packets turned back or were dropped here, and how many were dropped.
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void CountEnded(uint64_t packets) {
    ended_.store(ended_.load(std::memory_order_relaxed) + packets, std::memory_order_release);
  }

  struct Way {
    Ring* ring;
    uint32_t room;  // the room of the ring when the first of `packets` came
    std::vector<Descriptor> packets;
  };
  const std::vector<uint16_t> ring_of_row_;
  std::vector<Way> ways_;
  uint64_t taken_ = 0;                // packets that are not counted as handed on yet
  std::atomic<uint64_t> ended_{0};    // worker: writes, control: acquire loads
  std::atomic<uint64_t> dropped_{0};  // worker: writes, readers: relaxed loads
};

}  // namespace bfly::dataplane
