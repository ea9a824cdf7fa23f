// SPDX-License-Identifier: Apache-2.0
// Greedy store-and-forward routing around faulty switches (dataplane/steps/store_and_forward.h)
// under bfly measure.
#pragma once

#include "control/measure/steps/step_program.h"

namespace bfly::control {

// Figures of a trial, h packets of each input:
//   steps, mean_latency, max_latency    until the last packet is delivered, and of a packet
//   delivered, left_out                 packets; those of inputs that count as faulty are left out
//   longest_queue                       the most packets that a switch held after a step
//   faulty_switches                     that are not down and count as faulty
//   steps_over_dilated, mean_over_dilated
//                                       on multibutterflies of multiplicity 2: over what the
//                                       2-dilated butterfly without faults takes
StepProgram StoreAndForwardProgram();

}  // namespace bfly::control
