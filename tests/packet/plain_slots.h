// SPDX-License-Identifier: Apache-2.0
// Slots of 1,000 ticks whose clock a test turns by itself.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/slots/slot_clock.h"
#include "dataplane/slots/slot_gate.h"
#include "dataplane/slots/slot_table.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

inline constexpr uint64_t kOrigin = 1'000'000;
inline constexpr uint64_t kPeriod = 1'000;
inline constexpr uint64_t kGuard = 50;

inline SlotClock PlainClock() {
  return SlotClock(kOrigin, kPeriod << SlotClock::kFractionBits, kGuard);
}

// Two rows, whose circuits lead straight on in slot 0 and across in slot 1.
struct StraightAndAcross {
  SlotRun Make(LatePolicy late, uint32_t total = 10) const {
    const ScheduleConfig config{.tags = {{0, 1}, {1, 0}}, .late = late};
    return SlotRun(std::make_shared<const SlotTable>(network, config, PlainClock()), {0, 1}, 10,
                   total, counts);
  }
  static Descriptor From0(Row output, uint64_t time) {
    return {
        .tag = ToWire(output, 1), .mbuf = nullptr, .time = time, .row = 0, .bytes = 64, .input = 0};
  }
  Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 2}).value();
  std::shared_ptr<SlotCounts> counts = std::make_shared<SlotCounts>(2);
};

}  // namespace bfly::dataplane
