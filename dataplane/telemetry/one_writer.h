// SPDX-License-Identifier: Apache-2.0
// Counters that one thread writes and any thread reads.
#pragma once

#include <atomic>
#include <type_traits>

namespace bfly::dataplane {

// Adds to a counter that has one writer, so it needs no locked instruction. Readers load relaxed.
template <typename T>
inline void Bump(std::atomic<T>& counter, std::type_identity_t<T> by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace bfly::dataplane
