// SPDX-License-Identifier: Apache-2.0
// A trial on the wall clock: the same point as under the virtual clock, run by real workers.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/packets/packet_point.h"

namespace bfly::control {

// A packet of this length takes one unit of service on a link of kWallBytes * 8 / unit bits per
// second.
inline constexpr uint32_t kWallBytes = 125;

// InvalidArgument says why a point cannot run on the wall clock.
absl::Status CheckWallPoint(const v1::Experiment& experiment, const PacketPoint& point);

// Seconds that a trial takes, without loading and draining.
double WallSecondsOf(const v1::Experiment& experiment, const PacketPoint& point);

// The sinks measure delays in units of real time, from a packet's birth to its delivery. The
// figures links_delay, links_p50 and links_p99 are the part of the delay that the links account
// for, as the workers compute it. late_mean_us, late_p99_us and late_max_us are the rest, packet by
// packet. delivered_delay equals mean_delay. The times of stages are those of the links.
// EAL must be up (dataplane/runtime/eal.h). Returns Cancelled when `interrupted` says so.
absl::StatusOr<Trial> RunWallTrial(const v1::Experiment& experiment, const PacketPoint& point,
                                   uint64_t seed, const std::function<bool()>& interrupted);

}  // namespace bfly::control
