// SPDX-License-Identifier: Apache-2.0
// A ring from one worker to another has one producer and one consumer.
#pragma once

#include <rte_ring_elem.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "dataplane/core/descriptor.h"

namespace bfly::dataplane {

// `T` is trivially copyable and its size a multiple of 4.
template <class T>
class RingOf {
 public:
  // `capacity` is a power of two; one slot of it stays free.
  explicit RingOf(uint32_t capacity) {
    const ssize_t bytes = rte_ring_get_memsize_elem(sizeof(T), capacity);
    void* memory = std::aligned_alloc(
        RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(static_cast<size_t>(bytes), RTE_CACHE_LINE_SIZE));
    if (memory == nullptr) throw std::bad_alloc();
    ring_.reset(static_cast<rte_ring*>(memory));
    rte_ring_init(ring_.get(), "link", capacity, RING_F_SP_ENQ | RING_F_SC_DEQ);
  }

  // Producer: a later Push of this many takes all of them. The consumer can only raise the number.
  uint32_t room() const { return rte_ring_free_count(ring_.get()); }
  // Producer: returns how many elements the ring took.
  uint32_t Push(const T* burst, uint32_t count) {
    uint32_t free;
    const uint32_t taken =
        rte_ring_sp_enqueue_burst_elem(ring_.get(), burst, sizeof(T), count, &free);
    if (const uint32_t waiting = capacity() - free; waiting > peak_.load(std::memory_order_relaxed))
      peak_.store(waiting, std::memory_order_relaxed);
    return taken;
  }
  // Consumer.
  uint32_t Pop(T* burst, uint32_t count) {
    return rte_ring_sc_dequeue_burst_elem(ring_.get(), burst, sizeof(T), count, nullptr);
  }

  // Any thread: how many elements wait, the most that waited after a Push, and the most that may
  // wait.
  uint32_t waiting() const { return rte_ring_count(ring_.get()); }
  uint32_t peak() const { return peak_.load(std::memory_order_relaxed); }
  uint32_t capacity() const { return rte_ring_get_capacity(ring_.get()); }

 private:
  struct Free {
    void operator()(rte_ring* ring) const { std::free(ring); }
  };
  std::unique_ptr<rte_ring, Free> ring_;
  std::atomic<uint32_t> peak_{0};  // producer: writes, readers: relaxed loads
};

using Ring = RingOf<Descriptor>;

}  // namespace bfly::dataplane
