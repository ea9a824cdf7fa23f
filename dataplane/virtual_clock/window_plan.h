// SPDX-License-Identifier: Apache-2.0
// How long the windows are into which the workers of the virtual clock cut time.
#pragma once

#include "dataplane/virtual_clock/packet.h"
#include "dataplane/virtual_clock/vectors.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// How stages cut time.
struct WindowPlan {
  Ticks length = 0;      // the length of a window
  int bucket_bits = -1;  // as in StageWindow
  bool narrow = false;   // as in StageWindow
  double packets = 0;    // the mean number of packets that a row generates in a window
};

// Chooses the length of windows. `vectors` allows packets to be taken eight at a time.
WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors);
// As above, for windows of a given length.
WindowPlan PlanWindows(const Network& network, double rate, Ticks unit, Vectors vectors,
                       Ticks length);

// As above, for links that are not FIFO.
WindowPlan PlanServedWindows(double rate, Ticks unit);

}  // namespace bfly::dataplane
