// SPDX-License-Identifier: Apache-2.0
// The costs and results of a worker's passes, counted without a write per packet.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// The results of polls. A poll asks one inlet of a worker once for a burst.
struct PollCounts {
  static constexpr int kSizes = 8;

  uint64_t packets = 0;
  // by_size[0] polls brought no packet; by_size[b] brought 2^(b-1) to 2^b - 1 packets.
  std::array<uint64_t, kSizes> by_size{};

  uint64_t polls() const {
    uint64_t sum = 0;
    for (const uint64_t count : by_size) sum += count;
    return sum;
  }
  uint64_t empty() const { return by_size[0]; }
};

// One writer, any number of readers. A reader may see the last poll in one figure and not yet in
// another.
class PollMeter {
 public:
  // A poll brought `packets`, less than 2^(kSizes-1).
  void Add(int packets) {
    Bump(by_size_[std::bit_width(static_cast<unsigned>(packets))], 1);
    Bump(packets_, static_cast<uint64_t>(packets));
  }
  void AddTo(PollCounts& sum) const {
    sum.packets += packets_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < by_size_.size(); ++i) {
      sum.by_size[i] += by_size_[i].load(std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<uint64_t> packets_{0};  // writer: writes, readers: relaxed loads
  std::array<std::atomic<uint64_t>, PollCounts::kSizes> by_size_{};  // likewise
};

// Cycles of the TSC that hops took. A hop is one packet over one link.
struct HopCycles {
  uint64_t hops = 0;
  uint64_t cycles = 0;
};

// One writer, any number of readers, as above.
class HopMeter {
 public:
  void Add(uint64_t hops, uint64_t cycles) {
    Bump(hops_, hops);
    Bump(cycles_, cycles);
  }
  HopCycles Read() const {
    return {.hops = hops_.load(std::memory_order_relaxed),
            .cycles = cycles_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> hops_{0};    // writer: writes, readers: relaxed loads
  std::atomic<uint64_t> cycles_{0};  // likewise
};

// What crossing consecutive stages cost in the batches that were sampled.
struct StageCost {
  int first_stage = 0;
  int stages = 0;  // 1: crossed by itself; more: crossed in one step
  HopCycles sampled;
};

}  // namespace bfly::dataplane
