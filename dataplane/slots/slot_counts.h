// SPDX-License-Identifier: Apache-2.0
// What a schedule counts at the input rows of one worker's segment.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/telemetry/lateness.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// Worker: writes, readers: relaxed loads.
struct SlotCounts {
  explicit SlotCounts(uint32_t count) : slots(std::make_unique<Slot[]>(count)) {}

  struct alignas(64) Slot {
    std::atomic<uint64_t> frames{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> used{0};  // turns that ended and in which at least one frame entered
    std::atomic<uint64_t> waited{0};
    std::atomic<uint64_t> wait_ticks{0};
    std::atomic<uint64_t> waiting{0};
    std::atomic<uint64_t> full{0};
    std::atomic<uint64_t> missed{0};

    void EndWaits(uint64_t ended) {
      waiting.store(waiting.load(std::memory_order_relaxed) - ended, std::memory_order_relaxed);
    }
  };
  std::unique_ptr<Slot[]> slots;
  std::atomic<uint64_t> no_slot{0};
  std::atomic<uint64_t> no_memory{0};
  std::atomic<uint64_t> by_intermediate_row{0};
  std::atomic<uint64_t> longest_wait{0};  // ticks
  std::atomic<uint64_t> passed_over{0};   // slots in which the worker did not look at frames
  LatenessMeter late;                     // in ticks, only for slots that frames waited for
};

}  // namespace bfly::dataplane
