// SPDX-License-Identifier: Apache-2.0
// The reasons for which packets are dropped, and the account of each worker from which conservation
// is checked.
//
// Every worker keeps one Ledger. At the end of each pass the ledger balances by itself:
//   injected + taken_over == delivered + dropped + handed_on + held
// where taken_over/handed_on count descriptors that crossed a ring or trunk between workers, and
// held is counted from the queues themselves, not from the other fields. Summed over all workers
// this is
//   injected = delivered + dropped + in flight,  in flight = sum(held) + sum(handed_on -
//   taken_over),
// for any moment at which the workers' ledgers are read.
#pragma once

#include <array>
#include <cstdint>

namespace bfly::dataplane {

enum class DropReason : uint8_t {
  kTruncated,       // shorter than the headers it announces
  kOversized,       // longer than the fabric's frame limit
  kNotForFabric,    // no destination row can be read from it
  kUnknownRow,      // the destination row is outside the network
  kUnknownInput,    // the input row cannot be told (a port of several rows, unknown source)
  kBadHeader,       // a bfly header that lies: version, length, tag or row
  kNoCircuit,       // no circuit for the pair, and the file says drop
  kQueueFull,       // the link's queue limit
  kLinkDown,        // the link was taken down
  kNoPortAtRow,     // the output row has no host port
  kPortFull,        // the egress port took no more
  kQueueMemory,     // the memory set aside for queued packets was full
  kLoss,            // lost on the wire of a link with loss
  kTrunkLost,       // a gap in a trunk's sequence numbers
  kUnloaded,        // still inside when the fabric was unloaded
  kTrunkDuplicate,  // a trunk's sequence number that came before, or later than the window
  kTrunkForeign,    // a trunk's frame that is not of the sender's session, or whose number is far
                    // from the sender's
  kNoSlot,          // no slot of the schedule leads from the row to the output
  kSlotMissed,   // the slot was not on and the schedule says drop, or the schedule ended before the
                 // slot came
  kSlotFull,     // the most frames allowed waited for the slot at the row
  kPortRemoved,  // waited to leave or enter by a port when the port was removed
};
inline constexpr int kDropReasons = static_cast<int>(DropReason::kPortRemoved) + 1;

// "queue_full" and so on: the names used in JSON and in the proto enum (lower case, no prefix).
const char* DropReasonName(DropReason reason);

using DropCounts = std::array<uint64_t, kDropReasons>;

struct Ledger {
  uint64_t injected = 0;    // packets that entered at a host port or a built-in source
  uint64_t delivered = 0;   // packets that left by a host port or ended in a built-in sink
  uint64_t taken_over = 0;  // received from another worker or process
  uint64_t handed_on = 0;   // given to another worker or process
  uint64_t held = 0;        // inside this worker now
  DropCounts dropped{};
  // Part of `dropped`: packets that should have turned back behind the last stage
  // (slots/turn_back.h) and were dropped before.
  uint64_t turning_dropped = 0;

  void Drop(DropReason reason, uint64_t packets = 1) {
    dropped[static_cast<int>(reason)] += packets;
  }
  uint64_t dropped_total() const {
    uint64_t sum = 0;
    for (uint64_t d : dropped) sum += d;
    return sum;
  }
};

}  // namespace bfly::dataplane
