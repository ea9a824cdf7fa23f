// SPDX-License-Identifier: Apache-2.0
// The rate of the CPU's time stamp counter (TSC). rte_get_tsc_hz() rounds what it measures to 10
// MHz: where the CPU does not state the rate, as in most virtual machines, it was 0.19 % off.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

// Ticks of the TSC in a second of CLOCK_MONOTONIC_RAW, measured from the start of the process to
// the first call, or for a tenth of a second if that call comes earlier. All callers get the same
// number. Thread-safe.
uint64_t TscHz();

}  // namespace bfly::dataplane
