// SPDX-License-Identifier: Apache-2.0
// What a schedule counts at the input rows of one worker's segment.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "dataplane/telemetry/lateness.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// How punctually a worker looks at its slots. All gates of the worker share it, and a slot counts
// once, however many gates frames wait at. Worker: writes, readers: relaxed loads.
class SlotLooks {
 public:
  // The worker looks at frames that wait for `slot`, `late` ticks after the slot began. Its first
  // look counts.
  void Look(uint64_t slot, uint64_t late) {
    if (slot < next_look_) return;
    next_look_ = slot + 1;
    late_.Add(late);
  }
  // The slots from `first` to before `end` passed while frames waited and nobody looked at them.
  void PassOver(uint64_t first, uint64_t end) {
    first = std::max({first, passed_, next_look_});
    if (first >= end) return;
    passed_ = end;
    Bump(passed_over_, end - first);
  }

  Lateness lateness() const { return late_.Read(); }  // in ticks
  uint64_t passed_over() const { return passed_over_.load(std::memory_order_relaxed); }

 private:
  LatenessMeter late_;
  std::atomic<uint64_t> passed_over_{0};
  uint64_t next_look_ = 0;  // worker only: the slots before it had their look
  uint64_t passed_ = 0;     // worker only: the slots before it are counted if they were passed over
};

// Worker: writes, readers: relaxed loads.
struct SlotCounts {
  explicit SlotCounts(uint32_t count,
                      std::shared_ptr<SlotLooks> of_worker = std::make_shared<SlotLooks>())
      : slots(std::make_unique<Slot[]>(count)), looks(std::move(of_worker)) {}

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
  const std::shared_ptr<SlotLooks> looks;
};

}  // namespace bfly::dataplane
