// SPDX-License-Identifier: Apache-2.0
// Slots of 1,000 ticks whose clock a test turns by itself.
#pragma once

#include <cstdint>

#include "dataplane/slots/slot_clock.h"

namespace bfly::dataplane {

inline constexpr uint64_t kOrigin = 1'000'000;
inline constexpr uint64_t kPeriod = 1'000;
inline constexpr uint64_t kGuard = 50;

inline SlotClock PlainClock() {
  return SlotClock(kOrigin, kPeriod << SlotClock::kFractionBits, kGuard);
}

}  // namespace bfly::dataplane
