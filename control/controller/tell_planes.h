// SPDX-License-Identifier: Apache-2.0
// Changes of which all data planes of a fabric hear, or none.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "control/controller/agent_client.h"
#include "control/controller/deadline.h"
#include "control/controller/intent.h"

namespace bfly::control {

// Tells one data plane something, and returns what it says of it.
using TellPlane = std::function<absl::Status(AgentClient& client, Deadline deadline)>;

// Returns the status with the name of its data plane before the message. The fields stay.
absl::Status ErrorAtPlane(const DataPlane& plane, const absl::Status& status);

// Tells the data planes `change`, one after the other. If one fails, it and those before it get
// `undo`, and the error names it. Data planes whose state is not known then are marked out of step.
absl::Status TellAllOrNone(const DataPlanes& planes, const TellPlane& change, const TellPlane& undo,
                           Deadline deadline);

}  // namespace bfly::control
