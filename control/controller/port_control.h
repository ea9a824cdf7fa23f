// SPDX-License-Identifier: Apache-2.0
// The host ports of the loaded fabric: added and removed while it runs.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/loaded_intent.h"

namespace bfly::control {

class PortControl {
 public:
  explicit PortControl(LoadedIntent& intent) : intent_(intent) {}

  // All data planes hear of the change or none does: if one fails, the others get back the ports of
  // before. INVALID_ARGUMENT and FAILED_PRECONDITION name the field under "port". NOT_FOUND: there
  // is no port of this name.
  absl::StatusOr<v1::AddPortResponse> Add(const v1::AddPortRequest& request, Deadline deadline);
  absl::StatusOr<v1::RemovePortResponse> Remove(const v1::RemovePortRequest& request,
                                                Deadline deadline);
  absl::StatusOr<v1::GetPortsResponse> Get() const;

  // If the data plane runs the fabric of the intent with other ports, it gets those of the intent,
  // and `held` has them then. Needs the change lock.
  absl::Status Reconcile(DataPlane& plane, v1::AgentState& held, Deadline deadline) const;

 private:
  // `next` is the topology with its new ports. Needs the change lock.
  absl::Status Change(v1::Topology next, v1::PortChanges changes, Deadline deadline);

  LoadedIntent& intent_;
};

}  // namespace bfly::control
