// SPDX-License-Identifier: Apache-2.0
// Packets by the tick at which they arrive at the far side of their links. The packet of the
// earliest tick comes out first; packets of one tick come out in the order in which they came in.
//
// Hierarchical timing wheels (Varghese and Lauck 1987, scheme 7): a wheel has 256 slots, and a slot
// of one wheel is as long as the whole wheel below it. A packet is put into the lowest wheel that
// reaches its tick. When time enters a slot of a higher wheel, the packets of the slot move to
// lower wheels. When time enters a slot of the lowest wheel, its packets move to an array, which is
// sorted when packets are taken out of it. What lies in the wheels costs no time until it is due.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace bfly::dataplane {

// Store: see stored_packet.h. The calendar reads `key` of an entry, its tick, and owns `right`.
template <typename Store>
class Calendar {
 public:
  void Add(uint32_t entry, Store& store) {
    const uint64_t key = store.at(entry).key;
    const uint64_t slot = key >> kTickBits;
    // The slot has passed already: a caller announced by MoveTo that it takes packets out soon, or
    // another worker brought this packet late.
    if (slot <= cursor_) return AddToDue(key, entry);
    AddToWheels(slot, entry, store);
  }

  // A packet that is due, with its tick.
  struct Due {
    uint64_t key;
    uint32_t entry;
  };

  // How many packets lie outside of the wheels: all that are due, unless there are many.
  size_t due() const { return end_due_ - first_due_; }

  bool empty() const { return first_due_ == end_due_ && used_ == 0; }

  // A tick before which no packet is due; UINT64_MAX: no packet is left. After TakeDue has returned
  // an empty result, this tick is later than the `now` of that call.
  uint64_t NotBefore() const {
    if (first_due_ != end_due_) return earliest_due_;
    if (used_ == 0) return UINT64_MAX;
    return FirstSlot(std::countr_zero(used_)) << kTickBits;
  }

  // The caller will soon take out packets up to `now`. Such packets that are added from here on
  // bypass the wheels.
  void MoveTo(uint64_t now, Store& store) {
    const uint64_t until = now >> kTickBits;
    if (until <= cursor_) return;
    if (used_ != 0) return FillDue(until, store);
    cursor_ = until;
  }

  // Takes out the next packets whose ticks are not after `now`, at most `most`, and perhaps fewer
  // than there are. An empty result means that no such packet is left. The result is valid until
  // the calendar is changed.
  std::span<const Due> TakeDue(uint64_t now, size_t most, Store& store) {
    if (first_due_ == end_due_) FillDue(now >> kTickBits, store);
    if (first_due_ == end_due_) return {};
    if (!due_is_sorted_) SortDue();
    const Due* const due = due_.get();
    const size_t begin = first_due_, end = std::min(end_due_, begin + most);
    size_t first = end;
    while (first > begin && due[first - 1].key > now) --first;
    if (first == end_due_) {
      ForgetDue();
    } else {
      first_due_ = first;
      earliest_due_ = due[first].key;
    }
    return {due + begin, first - begin};
  }

  // Calls leaves(entry) once for every packet, and takes out the packets for which it returns true.
  template <typename Leaves>
  void TakeOut(Store& store, const Leaves& leaves) {
    Due* const due = due_.get();
    size_t kept = first_due_;
    for (size_t i = first_due_; i < end_due_; ++i) {
      if (!leaves(due[i].entry)) due[kept++] = due[i];
    }
    end_due_ = kept;
    if (first_due_ == end_due_) ForgetDue();
    for (int level = 0; level < kWheels; ++level) {
      Wheel& wheel = wheels_[level];
      for (uint32_t digit = 0; digit < kSlots && (used_ >> level & 1) != 0; ++digit) {
        if (wheel.slots[digit].first == 0) continue;
        Filter(wheel.slots[digit], store, leaves);
        if (wheel.slots[digit].first == 0) Clear(level, digit);
      }
    }
  }

 private:
  static constexpr int kTickBits = 10;  // a slot of the lowest wheel has 2^10 ticks
  static constexpr int kDigitBits = 8;
  static constexpr uint32_t kSlots = 1u << kDigitBits;
  static constexpr int kWheels = (64 - kTickBits + kDigitBits - 1) / kDigitBits;
  static constexpr size_t kMany = 512;  // due packets for which no further slot is needed
  static constexpr size_t kFew = 40;    // packets that are sorted by insertion
  static constexpr int kSortBits = 6;  // the bits of a key by which more packets are sorted at once
  static constexpr size_t kParts = 4;

  // A list by `right`, in the order in which packets came.
  struct List {
    uint32_t first = 0;  // 0: empty
    uint32_t last = 0;   // not used if empty
  };
  struct Wheel {
    std::array<uint64_t, kSlots / 64> taken{};  // a bit for each slot with packets
    std::array<List, kSlots> slots{};
  };

  static void Append(List& list, uint32_t entry, Store& store) {
    if (list.first == 0) {
      list.first = entry;
    } else {
      store.at(list.last).right = entry;
    }
    list.last = entry;
  }

  void AddToWheels(uint64_t slot, uint32_t entry, Store& store) {
    store.at(entry).right = 0;
    const int level = (63 - std::countl_zero((slot ^ cursor_) | 1)) / kDigitBits;
    const auto digit = static_cast<uint32_t>(slot >> (level * kDigitBits)) % kSlots;
    Wheel& wheel = wheels_[level];
    wheel.taken[digit / 64] |= uint64_t{1} << (digit % 64);
    used_ |= 1u << level;
    Append(wheel.slots[digit], entry, store);
  }

  void AddToDue(uint64_t key, uint32_t entry) {
    if (end_due_ == capacity_) [[unlikely]]
      MakeRoom();
    due_[end_due_++] = {key, entry};
    due_is_sorted_ = due_is_sorted_ && key >= latest_due_;
    earliest_due_ = std::min(earliest_due_, key);
    latest_due_ = std::max(latest_due_, key);
  }

  void MakeRoom() {
    const size_t count = end_due_ - first_due_;
    if (first_due_ > capacity_ / 2) {
      std::copy_n(&due_[first_due_], count, &due_[0]);
    } else {
      capacity_ = std::max(2 * capacity_, 2 * kMany);
      auto due = std::make_unique_for_overwrite<Due[]>(capacity_);
      if (count > 0) std::copy_n(&due_[first_due_], count, due.get());
      due_ = std::move(due);
      unsorted_ = std::make_unique_for_overwrite<Due[]>(capacity_);
    }
    first_due_ = 0;
    end_due_ = count;
  }

  void ForgetDue() {
    first_due_ = end_due_ = 0;
    due_is_sorted_ = true;
    earliest_due_ = UINT64_MAX;
    latest_due_ = 0;
  }

  // The number of the first slot with packets of a wheel that has one.
  uint64_t FirstSlot(int level) const {
    const Wheel& wheel = wheels_[level];
    uint32_t word = 0;
    while (wheel.taken[word] == 0) ++word;
    const uint64_t digit = word * 64 + static_cast<uint32_t>(std::countr_zero(wheel.taken[word]));
    const int shift = level * kDigitBits;
    return (cursor_ >> shift >> kDigitBits << kDigitBits | digit) << shift;
  }

  void Clear(int level, uint32_t digit) {
    Wheel& wheel = wheels_[level];
    wheel.taken[digit / 64] &= ~(uint64_t{1} << (digit % 64));
    uint64_t any = 0;
    for (const uint64_t word : wheel.taken) any |= word;
    if (any == 0) used_ &= ~(1u << level);
  }

  // Moves packets of slots up to `until` to due_, slot by slot, until there are many.
  void FillDue(uint64_t until, Store& store) {
    while (used_ != 0) {
      if (end_due_ - first_due_ >= kMany) return;
      const int level = std::countr_zero(used_);
      const uint64_t slot = FirstSlot(level);
      if (slot > until) break;
      const auto digit = static_cast<uint32_t>(slot >> (level * kDigitBits)) % kSlots;
      const List taken = std::exchange(wheels_[level].slots[digit], {});
      Clear(level, digit);
      cursor_ = slot;
      for (uint32_t entry = taken.first; entry != 0;) {
        const uint32_t next = store.at(entry).right;
        Add(entry, store);
        entry = next;
      }
    }
    // Every slot with packets is after `until`, so its place in its wheel stays the same.
    cursor_ = std::max(cursor_, until);
  }

  // Packets of one tick keep their order.
  void SortDue() {
    if (end_due_ - first_due_ <= kFew) {
      SortFew();
    } else {
      SortMany();
    }
    due_is_sorted_ = true;
    earliest_due_ = due_[first_due_].key;
    latest_due_ = due_[end_due_ - 1].key;
  }

  void SortFew() {
    Due* const due = &due_[first_due_];
    const size_t count = end_due_ - first_due_;
    for (size_t i = 1; i < count; ++i) {
      const Due moved = due[i];
      size_t at = i;
      for (; at > 0 && due[at - 1].key > moved.key; --at) due[at] = due[at - 1];
      due[at] = moved;
    }
  }

  // Sorts by digits of the key, the lowest digit first. The packets are sorted in kParts parts side
  // by side: packets of one digit wait for each other, and the parts don't.
  void SortMany() {
    const uint64_t base = earliest_due_;
    const int bits = std::bit_width(latest_due_ - base);
    const int digits = (bits + kSortBits - 1) / kSortBits;
    const int digit_bits = (bits + digits - 1) / digits;
    const uint32_t values = 1u << digit_bits;
    const size_t count = end_due_ - first_due_;
    const size_t part = count / kParts;
    for (int shift = 0; shift < bits; shift += digit_bits) {
      const Due* const from = &due_[first_due_];
      Due* const to = unsorted_.get();
      // Where a digit's next packet goes.
      std::array<std::array<uint32_t, kParts>, 1u << kSortBits> places;
      std::fill_n(places.begin(), values, std::array<uint32_t, kParts>{});
      const auto digit = [=](const Due& due) { return (due.key - base) >> shift & (values - 1); };
      for (size_t i = 0; i < part; ++i) {
        for (size_t p = 0; p < kParts; ++p) ++places[digit(from[p * part + i])][p];
      }
      for (size_t i = kParts * part; i < count; ++i) ++places[digit(from[i])][kParts - 1];
      uint32_t before = 0;
      for (uint32_t value = 0; value < values; ++value) {
        for (uint32_t& place : places[value]) before += std::exchange(place, before);
      }
      for (size_t i = 0; i < part; ++i) {
        for (size_t p = 0; p < kParts; ++p) {
          const Due& due = from[p * part + i];
          to[places[digit(due)][p]++] = due;
        }
      }
      for (size_t i = kParts * part; i < count; ++i) {
        to[places[digit(from[i])][kParts - 1]++] = from[i];
      }
      std::swap(due_, unsorted_);
      first_due_ = 0;
      end_due_ = count;
    }
  }

  template <typename Leaves>
  static void Filter(List& list, Store& store, const Leaves& leaves) {
    List kept;
    for (uint32_t entry = list.first; entry != 0;) {
      const uint32_t next = store.at(entry).right;
      if (!leaves(entry)) {
        store.at(entry).right = 0;
        Append(kept, entry, store);
      }
      entry = next;
    }
    list = kept;
  }

  uint64_t cursor_ = 0;  // packets of slots up to this one are in due_
  // The packets that are due first are due_[first_due_] .. due_[end_due_ - 1].
  std::unique_ptr<Due[]> due_;
  std::unique_ptr<Due[]> unsorted_;  // as large as due_; used while due_ is sorted
  size_t first_due_ = 0, end_due_ = 0, capacity_ = 0;
  bool due_is_sorted_ = true;
  uint64_t earliest_due_ = UINT64_MAX;  // not after the earliest tick in due_
  uint64_t latest_due_ = 0;             // not before the latest tick in due_
  uint32_t used_ = 0;                   // a bit for each wheel with packets
  std::unique_ptr<Wheel[]> wheels_ = std::make_unique<Wheel[]>(kWheels);
};

}  // namespace bfly::dataplane
