// SPDX-License-Identifier: Apache-2.0
// A run under the virtual clock with links of any discipline. It also takes measurements that the
// fast FIFO stages do not take (NeedsServers). RunVirtual calls it.
#pragma once

#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {

// Times in ticks; windows end on `start` and on `end`.
struct RunTimes {
  Ticks unit;
  Ticks window;
  Ticks start;    // the start of the measured time
  Ticks end;      // the end of the measured time
  Ticks give_up;  // when the run of a network that cannot keep up ends
};

// Whether the network or the configuration needs RunServers.
bool NeedsServers(const Network& network, const VirtualConfig& config);

VirtualResult RunServers(const Network& network, const VirtualConfig& config, VirtualSource& source,
                         const RunTimes& times);

}  // namespace bfly::dataplane
