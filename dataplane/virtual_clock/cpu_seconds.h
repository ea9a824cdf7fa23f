// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace bfly::dataplane {

// The CPU time that all threads of this process have used so far.
inline double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace bfly::dataplane
