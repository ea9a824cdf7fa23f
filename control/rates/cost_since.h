// SPDX-License-Identifier: Apache-2.0
// What the work of a worker cost between two pictures of a fabric. Pure.
#pragma once

#include "bfly/v1/fabric.pb.h"

namespace bfly::control {

// The counts are what grew from `before` to `now`, and the costs a frame and a hop are their
// quotients. Stages that no sampled packet crossed in between are left out. Rings are as in `now`.
// A count that fell belongs to a data plane that began anew at 0, so all of `now` has grown since.
v1::WorkerCost CostSince(const v1::WorkerCost& before, const v1::WorkerCost& now);

// `now` with the passes, idle passes and costs of every worker since `before`, which is a picture
// of the same fabric. A worker that `before` does not have began at 0.
v1::FabricStatus WorkSince(const v1::FabricStatus& before, v1::FabricStatus now);

}  // namespace bfly::control
