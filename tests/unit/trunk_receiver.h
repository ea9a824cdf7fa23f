// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "dataplane/frames/trunk_sequence.h"

namespace bfly::dataplane {

inline constexpr uint64_t kQuiet = 1000;
inline constexpr uint32_t kSession = 0xabcd1234;
inline constexpr uint32_t kOther = 0x1234abcd;

// A receiver and the sums of its steps. Each frame takes one unit of time.
struct Receiver {
  TrunkSequence sequence{kQuiet};
  uint64_t now = 1'000'000;
  uint64_t taken = 0, lost = 0, duplicates = 0, foreign = 0;

  bool Get(uint64_t number, uint32_t session = kSession) {
    const TrunkSequence::Step step = sequence.Next(session, number, ++now);
    taken += step.take;
    lost += step.lost;
    duplicates += step.duplicates;
    foreign += step.foreign;
    return step.take;
  }
  void GetRun(uint64_t from, uint64_t to, uint32_t session = kSession) {
    for (uint64_t n = from; n < to; ++n) Get(n, session);
  }
  void Pause() {
    now += kQuiet;
    lost += sequence.Quiet(now);
  }
};

}  // namespace bfly::dataplane
