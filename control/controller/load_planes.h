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
#include "control/events/event_log.h"

namespace bfly::control {

// No call below waits for a data plane longer than until the deadline. DEADLINE_EXCEEDED: a data
// plane had not answered by then.

// INVALID_ARGUMENT names every error of every data plane.
absl::Status VerifyAll(const Intent& intent, Deadline deadline);
// Makes the controller the owner of all data planes. FAILED_PRECONDITION says which other
// controller owns one; DEADLINE_EXCEEDED may also say that less than kUndoTime is left to load
// them. After an error the controller gives up all but those in `keep`.
absl::Status ClaimAll(const Intent& intent, const DataPlanes& keep, Deadline deadline);
void ReleaseAll(const DataPlanes& planes, Deadline deadline = kNoDeadline);
// Loads all data planes or none. With `take_over` a data plane first unloads what it runs. After an
// error `give_up` gets the data planes that may hold the fabric.
absl::Status LoadAll(const Intent& intent, bool take_over, Deadline deadline,
                     const std::function<void(const std::shared_ptr<DataPlane>&)>& give_up);

// What a data plane counted at the very end, or why nobody knows: it cannot be reached, or it was
// started again and holds nothing.
struct LastFigures {
  std::string data_plane;
  absl::StatusOr<v1::AgentCounters> counters;
};
// Senders come before receivers. Data planes that do not answer keep what they hold, and are
// marked.
std::vector<LastFigures> UnloadAll(const Intent& intent, Deadline deadline, EventLog& events);

}  // namespace bfly::control
