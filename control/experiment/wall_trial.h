// SPDX-License-Identifier: Apache-2.0
// A trial on the wall clock: the same point as under the virtual clock, run by real workers.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/experiment/point.h"

namespace bfly::control {

// A packet of this length takes one unit of service on a link of kWallBytes * 8 / unit bits per
// second.
inline constexpr uint32_t kWallBytes = 125;

// InvalidArgument where a point cannot run on the wall clock, and why.
absl::Status CheckWallPoint(const v1::Experiment& experiment, const Point& point);

// Seconds that a trial takes, without loading and draining.
double WallSecondsOf(const v1::Experiment& experiment, const Point& point);

// Delays are those of the network, in units: from a packet's birth to its arrival at the output, as
// its links account for them. How late the workers were on top of that is in the figures
// late_mean_us, late_p99_us and late_max_us; delivered_delay (units) is the mean of both together.
// EAL must be up (dataplane/runtime/eal.h). Cancelled when `interrupted` says so.
absl::StatusOr<Trial> RunWallTrial(const v1::Experiment& experiment, const Point& point,
                                   uint64_t seed, const std::function<bool()>& interrupted);

}  // namespace bfly::control
