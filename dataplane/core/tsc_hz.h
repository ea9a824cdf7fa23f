// SPDX-License-Identifier: Apache-2.0
// The rate of the CPU's time stamp counter (TSC). rte_get_tsc_hz() rounds a measured rate to 10
// MHz: on a machine whose CPU does not state the rate, as in most virtual machines, it was 0.19 %
// off.
#pragma once

#include <time.h>

#include <cstdint>

namespace bfly::dataplane {

// A moment as read from the TSC and from a clock of the kernel. The nanoseconds count from the
// clock's origin.
struct TscReading {
  uint64_t tsc = 0;
  uint64_t ns = 0;
};
// Returns the reading of several whose two clocks were read closest together, because a thread may
// lose its CPU between the two clocks.
TscReading ReadTscAnd(clockid_t clock);

// Ticks of the TSC in a second of CLOCK_MONOTONIC_RAW, measured from the start of the process to
// the first call, or for a tenth of a second if that call comes earlier. All callers get the same
// number. Thread-safe.
uint64_t TscHz();

}  // namespace bfly::dataplane
