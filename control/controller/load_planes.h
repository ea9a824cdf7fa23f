// SPDX-License-Identifier: Apache-2.0
// Loading and unloading the data planes of a fabric: all of them or none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/intent.h"

namespace bfly::control {

// None of these calls waits for a data plane longer than until the deadline: DEADLINE_EXCEEDED
// then.

// INVALID_ARGUMENT names every error of every data plane.
absl::Status VerifyAll(const Intent& intent, Deadline deadline);
// All data planes are the controller's then, or FAILED_PRECONDITION says whose one is, and of those
// that are claimed it keeps the ones in `keep` alone.
absl::Status ClaimAll(const Intent& intent, const DataPlanes& keep, Deadline deadline);
void ReleaseAll(const DataPlanes& planes, Deadline deadline = kNoDeadline);
// All or none. `take_over`: what a data plane runs already is unloaded first. `give_up` is told the
// data planes of which it is not known whether they hold the fabric after an error.
absl::Status LoadAll(const Intent& intent, bool take_over, Deadline deadline,
                     const std::function<void(const std::shared_ptr<DataPlane>&)>& give_up);

// Of a data plane what it counted at the very end, or why that is not to be had: it cannot be
// reached, or was started again and holds nothing.
struct LastFigures {
  std::string data_plane;
  absl::StatusOr<v1::AgentCounters> counters;
};
// Senders come before receivers. Data planes that do not answer keep what they hold, and are
// marked.
std::vector<LastFigures> UnloadAll(const Intent& intent, Deadline deadline,
                                   const std::function<void(const std::string&)>& log);

}  // namespace bfly::control
