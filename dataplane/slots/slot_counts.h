// SPDX-License-Identifier: Apache-2.0
// What a schedule counts at the input rows of one worker. All gates of the worker share it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/telemetry/lateness.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// How punctually a worker looks at its slots. A slot counts once, however many gates frames wait
// at. Worker: writes, readers: relaxed loads.
class SlotLooks {
 public:
  // `slots` is how many slots a cycle has.
  explicit SlotLooks(uint32_t slots) : passed_(slots) {}

  // The worker looks at frames that wait for `slot`, `late` ticks after the slot began. Its first
  // look counts.
  void Look(uint64_t slot, uint64_t late) {
    if (slot < next_look_) return;
    next_look_ = slot + 1;
    passed_[slot % passed_.size()] = slot + 1;
    late_.Add(late);
  }
  // The slot `first` and its repeats before `end` passed while frames waited for them and nobody
  // looked at them.
  void PassOver(uint64_t first, uint64_t end) {
    const uint64_t cycle = passed_.size();
    uint64_t& passed = passed_[first % cycle];
    if (passed > first) first += (passed - first + cycle - 1) / cycle * cycle;
    if (first >= end) return;
    passed = end;
    Bump(passed_over_, (end - first - 1) / cycle + 1);
  }

  Lateness lateness() const { return late_.Read(); }  // in ticks
  uint64_t passed_over() const { return passed_over_.load(std::memory_order_relaxed); }

 private:
  LatenessMeter late_;
  std::atomic<uint64_t> passed_over_{0};
  uint64_t next_look_ = 0;  // worker only: the slots before it had their look
  // Worker only, for each slot of the cycle: its repeats before this number had their look, or are
  // counted if they were passed over.
  std::vector<uint64_t> passed_;
};

// Worker: writes, readers: relaxed loads.
struct SlotCounts {
  // `count` is how many slots a cycle has.
  explicit SlotCounts(uint32_t count) : slots(std::make_unique<Slot[]>(count)), looks(count) {}

  struct alignas(64) Slot {
    std::atomic<uint64_t> frames{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> used{0};  // turns that ended and in which at least one frame entered
    std::atomic<uint64_t> waited{0};
    // The sum for the frames in `waited`. In runs of hours it exceeds 2^64.
    std::atomic<double> wait_ticks{0};
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
  SlotLooks looks;
};

}  // namespace bfly::dataplane
