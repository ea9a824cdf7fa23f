// SPDX-License-Identifier: Apache-2.0
// The order of the packets of one batch by tick. Packets of one tick keep the order in which they
// were added.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bfly::dataplane {

class BatchOrder {
 public:
  static constexpr size_t kMost = 256;
  // A tick is after the batch's first one by at most this.
  static constexpr uint64_t kMostTicks = (uint64_t{1} << 24) - 1;

  void Begin(uint64_t first_tick) {
    first_tick_ = first_tick;
    count_ = next_ = 0;
    is_sorted_ = false;
  }
  // `tick` is not before the batch's first tick, and at most kMostTicks after it. `place` is the
  // packet's place in its batch, below kMost. At most kMost packets.
  void Add(uint64_t tick, uint32_t place) {
    packets_[count_++] = static_cast<uint32_t>(tick - first_tick_) << kPlaceBits | place;
  }
  // Adds many packets. A loop uses a local copy of the members, so that no store to memory makes it
  // read them again. AddAll takes the copy back.
  struct Adding {
    uint64_t first_tick;
    uint32_t* next;
    void Add(uint64_t tick, uint32_t place) {
      *next++ = static_cast<uint32_t>(tick - first_tick) << kPlaceBits | place;
    }
  };
  Adding StartAdding() { return {first_tick_, packets_.data() + count_}; }
  void AddAll(const Adding& adding) { count_ = static_cast<size_t>(adding.next - packets_.data()); }
  size_t count() const { return count_; }
  bool empty() const { return next_ == count_; }
  // The places of the packets in the order in which they were added, or after Sort by tick.
  uint32_t place(size_t i) const { return packets_[i] % kMost; }

  void Sort() {
    is_sorted_ = true;
    if (!SortBySteps()) SortByDigits();
  }
  // After Sort: the tick of the i-th packet in the order of ticks.
  uint64_t TickOf(size_t i) const { return first_tick_ + (packets_[i] >> kPlaceBits); }
  // After Sort: only the first `count` packets stay.
  void Keep(size_t count) { count_ = count; }

  // The tick of the next packet; UINT64_MAX: no packet is left. Before Sort: a tick before which no
  // packet is due.
  uint64_t NotBefore() const {
    return empty() ? UINT64_MAX : is_sorted_ ? TickOf(next_) : first_tick_;
  }
  // Calls take(tick, place) for the next packets whose ticks are not after `until`, at most `most`.
  template <typename Take>
  void TakeUntil(uint64_t until, size_t most, const Take& take) {
    if (!is_sorted_) Sort();
    const size_t end = std::min(count_, next_ + most);
    for (; next_ < end && TickOf(next_) <= until; ++next_) {
      take(TickOf(next_), packets_[next_] % kMost);
    }
  }

 private:
  static constexpr int kPlaceBits = 8;
  static_assert(kMost == 1u << kPlaceBits);
  static constexpr int kSortBits = 7;

  // Sorts by insertion if fewer moves than packets are enough. Otherwise returns false, and the
  // packets are partly sorted.
  bool SortBySteps() {
    uint32_t* const packets = packets_.data();
    size_t steps = count_;
    for (size_t i = 1; i < count_; ++i) {
      const uint32_t moved = packets[i];
      const uint32_t last_of_tick = moved | (kMost - 1);
      size_t at = i;
      if (packets[at - 1] <= last_of_tick) [[likely]]
        continue;
      do {
        packets[at] = packets[at - 1];
        --at;
        if (--steps == 0) {
          packets[at] = moved;
          return false;
        }
      } while (at > 0 && packets[at - 1] > last_of_tick);
      packets[at] = moved;
    }
    return true;
  }

  // Sorts by digits of the tick, the lowest digit first. The packets are sorted in two parts side
  // by side: packets of one digit wait for each other, and the parts don't.
  void SortByDigits() {
    uint32_t ticks = 0;
    for (size_t i = 0; i < count_; ++i) ticks |= packets_[i] >> kPlaceBits;
    const int bits = std::bit_width(ticks);
    if (bits == 0) return;
    const int digits = (bits + kSortBits - 1) / kSortBits;
    const int digit_bits = (bits + digits - 1) / digits;
    const uint32_t values = 1u << digit_bits;
    const size_t half = count_ / 2;
    std::array<uint32_t, kMost> other;
    uint32_t* from = packets_.data();
    uint32_t* to = other.data();
    for (int shift = kPlaceBits; shift < kPlaceBits + bits; shift += digit_bits) {
      // Where a digit's next packet goes.
      std::array<std::array<uint32_t, 2>, 1u << kSortBits> places;
      std::fill_n(places.begin(), values, std::array<uint32_t, 2>{});
      const auto digit = [=](uint32_t packet) { return packet >> shift & (values - 1); };
      for (size_t i = 0; i < half; ++i) {
        ++places[digit(from[i])][0];
        ++places[digit(from[half + i])][1];
      }
      if (count_ % 2 != 0) ++places[digit(from[count_ - 1])][1];
      uint32_t before = 0;
      for (uint32_t value = 0; value < values; ++value) {
        before += std::exchange(places[value][0], before);
        before += std::exchange(places[value][1], before);
      }
      for (size_t i = 0; i < half; ++i) {
        to[places[digit(from[i])][0]++] = from[i];
        to[places[digit(from[half + i])][1]++] = from[half + i];
      }
      if (count_ % 2 != 0) to[places[digit(from[count_ - 1])][1]++] = from[count_ - 1];
      std::swap(from, to);
    }
    if (from != packets_.data()) std::copy_n(from, count_, packets_.data());
  }

  uint64_t first_tick_ = 0;
  size_t count_ = 0, next_ = 0;
  bool is_sorted_ = false;
  // For each packet: the ticks since the first tick, and in the low bits the packet's place.
  std::array<uint32_t, kMost> packets_;
};

}  // namespace bfly::dataplane
