// SPDX-License-Identifier: Apache-2.0
#include "dataplane/taps/unix_clock.h"

#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {

UnixClock UnixClock::Now() {
  const TscReading now = ReadTscAnd(CLOCK_REALTIME);
  return {now.tsc, now.ns, static_cast<double>(TscHz())};
}

}  // namespace bfly::dataplane
