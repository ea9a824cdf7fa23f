// SPDX-License-Identifier: Apache-2.0
// Converts times of the workers' clock (TSC) into time of day.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

class UnixClock {
 public:
  // Reads both clocks at nearly the same moment. Their relation is used from then on, even if the
  // time of day is set later.
  static UnixClock Now();
  // For tests.
  UnixClock(uint64_t tsc, uint64_t unix_ns, double hz) : tsc_(tsc), unix_ns_(unix_ns), hz_(hz) {}

  // Nanoseconds of Unix time at a TSC, and of the time between two TSCs; 0 if the second is not
  // after the first.
  uint64_t At(uint64_t tsc) const {
    return tsc >= tsc_ ? unix_ns_ + Between(tsc_, tsc) : unix_ns_ - Between(tsc, tsc_);
  }
  uint64_t Between(uint64_t from, uint64_t to) const {
    if (to <= from) return 0;
    return static_cast<uint64_t>(static_cast<double>(to - from) * 1e9 / hz_);
  }

 private:
  uint64_t tsc_;
  uint64_t unix_ns_;
  double hz_;
};

}  // namespace bfly::dataplane
