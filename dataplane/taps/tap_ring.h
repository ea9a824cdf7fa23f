// SPDX-License-Identifier: Apache-2.0
// Copies of frames on their way from one worker to one reader. If the ring is full, it takes no
// copy and counts the copy as dropped, so a worker never waits for a reader.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/taps/tapped_frame.h"

namespace bfly::dataplane {

class TapRing {
 public:
  // `slots` is a power of two. Each slot has room for a frame's first `snaplen` bytes. Memory is
  // only address space until copies fill it.
  TapRing(uint32_t slots, uint32_t snaplen);

  uint32_t slots() const { return mask_ + 1; }
  uint32_t snaplen() const { return snaplen_; }

  // Worker: copies frame.kept of the `bytes`, which are at most snaplen().
  void Offer(const TappedFrame& frame, const uint8_t* bytes);

  // Reader: calls visit(frame, bytes) for at most `most` copies made until the TSC `until`, the
  // oldest first. Returns their number.
  template <typename Visit>
  uint32_t Take(uint32_t most, uint64_t until, const Visit& visit) {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);
    const uint32_t there = std::min(most, head_.load(std::memory_order_acquire) - tail);
    uint32_t count = 0;
    for (; count < there; ++count) {
      const uint8_t* const slot = SlotOf(tail + count);
      const auto& frame = *reinterpret_cast<const TappedFrame*>(slot);
      if (frame.copied > until) break;
      visit(frame, std::span(slot + sizeof(TappedFrame), frame.kept));
    }
    tail_.store(tail + count, std::memory_order_release);
    return count;
  }

  // Any thread: copies that the ring took, and copies for which it had no room.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Free {
    void operator()(uint8_t* memory) const;
  };
  uint8_t* SlotOf(uint32_t position) const {
    return memory_.get() + size_t{position & mask_} * slot_bytes_;
  }

  const uint32_t mask_;
  const uint32_t snaplen_;
  const size_t slot_bytes_;
  const std::unique_ptr<uint8_t[], Free> memory_;
  std::atomic<uint64_t> taken_{0};    // worker: writes, readers: relaxed loads
  std::atomic<uint64_t> dropped_{0};  // worker: writes, readers: relaxed loads
  // Numbers of copies, modulo 2^32.
  alignas(64) std::atomic<uint32_t> head_{0};  // worker: release stores, reader: acquire loads
  alignas(64) std::atomic<uint32_t> tail_{0};  // reader: release stores, worker: acquire loads
};

}  // namespace bfly::dataplane
