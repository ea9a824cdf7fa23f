// SPDX-License-Identifier: Apache-2.0
// A run of a step program that no stage worker takes part in: the calling thread takes the
// steps, and the answer tells where every packet was.
#pragma once

#include <chrono>

#include "absl/status/statusor.h"
#include "bfly/v1/route.pb.h"
#include "control/intent/order.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::control {

inline constexpr std::chrono::seconds kLongestDryRun{10};

// `faults` is about `network`. `interrupt` is asked before parts of steps, and its error ends the
// run. DEADLINE_EXCEEDED: the run took longer than `longest`. Otherwise the errors of RunRoute.
absl::StatusOr<v1::RouteRecording> RunDry(const v1::RouteRequest& request, const Network& network,
                                          const FaultSet& faults, const Interrupt& interrupt,
                                          std::chrono::nanoseconds longest = kLongestDryRun);

}  // namespace bfly::control
