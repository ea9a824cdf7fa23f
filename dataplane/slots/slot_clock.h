// SPDX-License-Identifier: Apache-2.0
// When the slots of a schedule begin and end. All workers compute the same ticks from the same
// three numbers, so they need not talk to each other to stay in step.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

__extension__ using Ticks128 = unsigned __int128;

// Slot n begins floor(n * period) ticks of the TSC after the origin, so rounding does not add up.
// Packets may enter from the beginning of a slot until `guard` ticks before its end.
class SlotClock {
 public:
  // `period` is in 2^-24 of a tick, so that 64 bits hold a slot of ten seconds; `guard` is in
  // ticks.
  static constexpr int kFractionBits = 24;
  SlotClock(uint64_t origin, uint64_t period, uint64_t guard)
      : origin_(origin),
        period_(period),
        guard_(guard),
        slots_per_tick_(static_cast<uint64_t>((Ticks128{1} << (64 + kFractionBits)) / period)) {}

  static uint64_t PeriodOf(double nanoseconds, uint64_t tsc_hz) {
    return static_cast<uint64_t>(nanoseconds * 1e-9 * static_cast<double>(tsc_hz) * 0x1p24);
  }

  uint64_t origin() const { return origin_; }
  void set_origin(uint64_t origin) { origin_ = origin; }
  uint64_t Begin(uint64_t slot) const {
    return origin_ + static_cast<uint64_t>(Ticks128{slot} * period_ >> kFractionBits);
  }
  // The tick at which the guard of the slot begins.
  uint64_t Close(uint64_t slot) const { return Begin(slot + 1) - guard_; }
  // The slot that began last. Before the origin, slot 0.
  uint64_t At(uint64_t tick) const {
    if (tick <= origin_) return 0;
    // The reciprocal is rounded down, so the product is at most one slot too low, and the rounding
    // of Begin can make it one slot lower still.
    uint64_t slot = static_cast<uint64_t>(Ticks128{tick - origin_} * slots_per_tick_ >> 64);
    while (Begin(slot + 1) <= tick) ++slot;
    return slot;
  }

 private:
  uint64_t origin_;
  uint64_t period_;
  uint64_t guard_;
  uint64_t slots_per_tick_;  // in 2^-64 of a slot
};

}  // namespace bfly::dataplane
