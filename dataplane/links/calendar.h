// SPDX-License-Identifier: Apache-2.0
// Packets by the tick at which they arrive at the far side of their links. The packet of the
// earliest tick comes out first; packets of one tick come out in the order in which they came in.
//
// Hierarchical timing wheels (Varghese and Lauck 1987, scheme 7): a wheel has 256 slots, and a slot
// of one wheel is as long as the whole wheel below it. A packet is put into the lowest wheel that
// reaches its tick. When time enters a slot of a higher wheel, the packets of the slot move to
// lower wheels. When time enters a slot of the lowest wheel, its packets are sorted. They came
// nearly in order, so that is cheap. What is kept costs no time until it is due.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

namespace bfly::dataplane {

// Store: see stored_packet.h. The calendar reads `key` of an entry, its tick, and owns `right`.
template <typename Store>
class Calendar {
 public:
  void Add(uint32_t entry, Store& store) {
    const uint64_t slot = store.at(entry).key >> kTickBits;
    store.at(entry).right = 0;
    // A packet that another worker brings may come late: its tick may be over.
    if (slot <= cursor_) return AddToDue(entry, store);
    const int level = (63 - std::countl_zero((slot ^ cursor_) | 1)) / kDigitBits;
    const auto digit = static_cast<uint32_t>(slot >> (level * kDigitBits)) % kSlots;
    Wheel& wheel = wheels_[level];
    wheel.taken[digit / 64] |= uint64_t{1} << (digit % 64);
    used_ |= 1u << level;
    Append(wheel.slots[digit], entry, store);
  }

  bool empty() const { return due_.first == 0 && used_ == 0; }

  // A tick before which no packet is due; UINT64_MAX: there is none. After TakeDue has returned
  // less than it might have it is later than the `now` of that call.
  uint64_t NotBefore() const {
    if (due_.first != 0) return due_earliest_;
    if (used_ == 0) return UINT64_MAX;
    const int level = std::countr_zero(used_);
    return FirstSlot(level) << kTickBits;
  }

  // Takes out the next packets whose ticks are not after `now`, at most `most`. Returns how many.
  int TakeDue(uint64_t now, uint32_t* out, int most, Store& store) {
    int count = 0;
    while (count < most) {
      if (due_.first == 0 && !FillDue(now >> kTickBits, store)) break;
      if (!due_is_sorted_) SortDue(store);
      uint32_t entry = due_.first;
      while (count < most && entry != 0 && store.at(entry).key <= now) {
        out[count++] = entry;
        entry = store.at(entry).right;
      }
      due_.first = entry;
      if (entry == 0) continue;
      due_earliest_ = store.at(entry).key;
      break;
    }
    return count;
  }

  // Takes out every packet for which leaves(entry), which it calls once for each.
  template <typename Leaves>
  void TakeOut(Store& store, const Leaves& leaves) {
    Filter(due_, store, leaves);
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
  static constexpr int kTickBits = 8;  // a slot of the lowest wheel has 2^8 ticks
  static constexpr int kDigitBits = 8;
  static constexpr uint32_t kSlots = 1u << kDigitBits;
  static constexpr int kWheels = (64 - kTickBits + kDigitBits - 1) / kDigitBits;
  static constexpr size_t kFew = 128;  // packets that are sorted by insertion

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

  void AddToDue(uint32_t entry, Store& store) {
    const uint64_t key = store.at(entry).key;
    due_is_sorted_ = due_.first == 0;
    due_earliest_ = due_is_sorted_ ? key : std::min(due_earliest_, key);
    Append(due_, entry, store);
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

  // Moves on to the first slot with packets, if that is not after slot `until`.
  bool FillDue(uint64_t until, Store& store) {
    while (used_ != 0) {
      const int level = std::countr_zero(used_);
      const uint64_t slot = FirstSlot(level);
      if (slot > until) break;
      const auto digit = static_cast<uint32_t>(slot >> (level * kDigitBits)) % kSlots;
      const List taken = std::exchange(wheels_[level].slots[digit], {});
      Clear(level, digit);
      cursor_ = slot;
      if (level == 0) {
        due_ = taken;
        due_is_sorted_ = taken.first == taken.last;
        due_earliest_ = slot << kTickBits;
        return true;
      }
      for (uint32_t entry = taken.first; entry != 0;) {
        const uint32_t next = store.at(entry).right;
        Add(entry, store);
        entry = next;
      }
      if (due_.first != 0) return true;
    }
    // Every slot with packets is after `until`, so its place in its wheel stays the same.
    cursor_ = std::max(cursor_, until);
    return false;
  }

  void SortDue(Store& store) {
    // Two arrays: a load that is wider than the store before it would wait.
    std::array<uint64_t, kFew> keys;
    std::array<uint32_t, kFew> few;
    size_t count = 0;
    bool moved = false;
    for (uint32_t entry = due_.first; entry != 0; entry = store.at(entry).right) {
      if (count == kFew) return SortMany(store);
      const uint64_t key = store.at(entry).key;
      size_t at = count++;
      for (; at > 0 && keys[at - 1] > key; --at) {
        keys[at] = keys[at - 1];
        few[at] = few[at - 1];
      }
      keys[at] = key;
      few[at] = entry;
      moved = moved || at + 1 != count;
    }
    due_is_sorted_ = true;
    if (!moved) return;
    due_ = {};
    for (size_t i = 0; i < count; ++i) Append(due_, few[i], store);
    store.at(due_.last).right = 0;
  }

  // Merges runs of doubling length. Packets of one tick keep their order.
  void SortMany(Store& store) {
    std::array<uint32_t, 32> runs{};  // of 2^i packets, later ones of lower i
    for (uint32_t entry = due_.first; entry != 0;) {
      const uint32_t next = store.at(entry).right;
      store.at(entry).right = 0;
      size_t i = 0;
      for (; runs[i] != 0 && i + 1 < runs.size(); ++i) {
        entry = Merged(std::exchange(runs[i], 0), entry, store);
      }
      runs[i] = entry;
      entry = next;
    }
    uint32_t all = 0;
    for (const uint32_t run : runs) all = Merged(run, all, store);
    due_.first = all;
    for (uint32_t entry = all; entry != 0; entry = store.at(entry).right) due_.last = entry;
    due_is_sorted_ = true;
  }

  // Packets of `a` came before those of `b`.
  static uint32_t Merged(uint32_t a, uint32_t b, Store& store) {
    uint32_t first = 0;
    for (uint32_t* end = &first;; end = &store.at(*end).right) {
      if (a == 0 || b == 0) {
        *end = a == 0 ? b : a;
        return first;
      }
      const bool takes_b = store.at(b).key < store.at(a).key;
      uint32_t& taken = takes_b ? b : a;
      *end = taken;
      taken = store.at(taken).right;
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

  uint64_t cursor_ = 0;  // packets of slots before this one are in due_
  List due_;
  bool due_is_sorted_ = true;
  uint64_t due_earliest_ = 0;  // not after the earliest tick in due_
  uint32_t used_ = 0;          // a bit for each wheel with packets
  std::unique_ptr<Wheel[]> wheels_ = std::make_unique<Wheel[]>(kWheels);
};

}  // namespace bfly::dataplane
