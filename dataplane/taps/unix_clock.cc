// SPDX-License-Identifier: Apache-2.0
#include "dataplane/taps/unix_clock.h"

#include <rte_cycles.h>
#include <time.h>

#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {

// A thread may lose its CPU between the two clocks, so the closest of several readings counts.
UnixClock UnixClock::Now() {
  uint64_t tsc = 0, unix_ns = 0, closest = UINT64_MAX;
  for (int reading = 0; reading < 8; ++reading) {
    timespec time = {};
    const uint64_t before = rte_rdtsc();
    clock_gettime(CLOCK_REALTIME, &time);
    const uint64_t took = rte_rdtsc() - before;
    if (took >= closest) continue;
    closest = took;
    tsc = before + took / 2;
    unix_ns =
        static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  }
  return {tsc, unix_ns, static_cast<double>(TscHz())};
}

}  // namespace bfly::dataplane
