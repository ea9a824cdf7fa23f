// SPDX-License-Identifier: Apache-2.0

#include "dataplane/core/tsc_hz.h"

#include <gtest/gtest.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace bfly::dataplane {
namespace {

double SecondsNow() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The least that the TSC is ahead of `hz` ticks a second since a moment. A thread that loses its
// CPU between the two readings sees more.
double TicksAhead(double hz, double second, uint64_t tsc) {
  double least = 1e18;
  for (int i = 0; i < 1'000; ++i) {
    const double now = SecondsNow();
    least = std::min(least, static_cast<double>(__rdtsc() - tsc) - hz * (now - second));
  }
  return least;
}

TEST(TscHz, KeepsInStepWithTheKernelsClock) {
  const auto hz = static_cast<double>(TscHz());
  const double second = SecondsNow();
  const uint64_t tsc = __rdtsc();
  const double before = TicksAhead(hz, second, tsc);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  // 2 GHz rounded to 10 MHz would be off by up to 2,500 millionths.
  EXPECT_NEAR((TicksAhead(hz, second, tsc) - before) / hz, 0, 20e-6);
  EXPECT_EQ(TscHz(), static_cast<uint64_t>(hz));
}

}  // namespace
}  // namespace bfly::dataplane
