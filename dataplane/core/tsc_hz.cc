// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/tsc_hz.h"

#include <rte_cycles.h>

#include <chrono>
#include <thread>

namespace bfly::dataplane {

TscReading ReadTscAnd(clockid_t clock) {
  TscReading closest;
  uint64_t least = UINT64_MAX;
  for (int reading = 0; reading < 8; ++reading) {
    timespec time = {};
    const uint64_t before = rte_rdtsc();
    clock_gettime(clock, &time);
    const uint64_t took = rte_rdtsc() - before;
    if (took >= least) continue;
    least = took;
    closest = {.tsc = before + took / 2,
               .ns = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
                     static_cast<uint64_t>(time.tv_nsec)};
  }
  return closest;
}

namespace {

const TscReading kProcessStart = ReadTscAnd(CLOCK_MONOTONIC_RAW);

uint64_t MeasureTscHz() {
  constexpr uint64_t kLeastNs = 100'000'000;
  TscReading now = ReadTscAnd(CLOCK_MONOTONIC_RAW);
  if (const uint64_t passed = now.ns - kProcessStart.ns; passed < kLeastNs) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLeastNs - passed));
    now = ReadTscAnd(CLOCK_MONOTONIC_RAW);
  }
  return static_cast<uint64_t>(static_cast<double>(now.tsc - kProcessStart.tsc) * 1e9 /
                               static_cast<double>(now.ns - kProcessStart.ns));
}

}  // namespace

uint64_t TscHz() {
  static const uint64_t hz = MeasureTscHz();
  return hz;
}

}  // namespace bfly::dataplane
