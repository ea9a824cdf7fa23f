// SPDX-License-Identifier: Apache-2.0
// A value that one thread publishes and any thread reads as a whole. The writer never waits.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace bfly::dataplane {

// A seqlock. The version is odd while the value is being written. Every store is a release and
// every load an acquire, instead of relaxed accesses with fences: on x86 both cost the same, and
// ThreadSanitizer understands this form.
template <typename T>
class Published {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0);
  static constexpr size_t kWords = sizeof(T) / sizeof(uint64_t);
  using Words = std::array<uint64_t, kWords>;

 public:
  // Only one thread may publish.
  void Publish(const T& value) {
    const Words words = std::bit_cast<Words>(value);
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Any thread. Tries again while a write is in progress, which takes nanoseconds.
  T Read() const {
    uint64_t version;
    return Read(version);
  }

  // Also returns the version that was read: while version() is the same, so is the value.
  T Read(uint64_t& before) const {
    Words words;
    uint64_t after;
    do {
      before = version_.load(std::memory_order_acquire);
      for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
      after = version_.load(std::memory_order_relaxed);
    } while (before != after || (before & 1) != 0);
    return std::bit_cast<T>(words);
  }

  uint64_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  alignas(64) std::atomic<uint64_t> version_{0};       // publisher: writes, readers: acquire loads
  std::array<std::atomic<uint64_t>, kWords> words_{};  // publisher: writes, readers: acquire loads
};

}  // namespace bfly::dataplane
