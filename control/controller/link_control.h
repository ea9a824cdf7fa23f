// SPDX-License-Identifier: Apache-2.0
// What the links of the loaded fabric are like: their rates, delays and limits, changed while they
// run.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/events/event_log.h"

namespace bfly::control {

class LinkControl {
 public:
  LinkControl(LoadedIntent& intent, EventLog& events) : intent_(intent), events_(events) {}

  // Changes links at all data planes or at none: if one fails, the others get back what they had.
  absl::StatusOr<v1::SetLinksResponse> Set(const v1::SetLinksRequest& request, Deadline deadline);
  absl::StatusOr<v1::GetLinksResponse> Get(const v1::GetLinksRequest& request) const;

  // Gives the data plane the changes of the intent if it holds others. Needs the change lock.
  absl::Status Reconcile(DataPlane& plane, const v1::AgentState& held, Deadline deadline) const;

 private:
  void Note(const LinkOverrides& changes);

  LoadedIntent& intent_;
  EventLog& events_;
};

}  // namespace bfly::control
