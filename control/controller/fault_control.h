// SPDX-License-Identifier: Apache-2.0
// Links and nodes that go down and come back, and what becomes of the circuits over them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/circuit_commit.h"
#include "control/controller/loaded_intent.h"
#include "control/events/event_log.h"

namespace bfly::control {

class FaultControl {
 public:
  FaultControl(LoadedIntent& intent, CircuitCommit& commit, EventLog& events)
      : intent_(intent), commit_(commit), events_(events) {}

  // Takes a link or node down, or brings it back, at all data planes that run a part of it or at
  // none. `find` looks it up in the network of the loaded fabric.
  using FindFault = std::function<absl::StatusOr<Fault>(const Network&)>;
  absl::Status Set(uint64_t election_id, const FindFault& find, bool down, Deadline deadline);

  // What follows needs the change lock.

  // Makes the faults that the data plane holds and those of the intent the same. What is down at
  // either stays down, unless only a call that failed took it down.
  absl::Status Reconcile(DataPlane& plane, const v1::AgentState& held, Deadline deadline);
  // Repairs or releases the circuits that are broken, as the topology wants it, and tells listeners
  // of `crossing`, circuits over a link whose state changed.
  void ApplyFailurePolicy(const std::vector<Row>& crossing, Deadline deadline);

 private:
  v1::CircuitPolicy::OnFailure on_failure() const {
    return intent_.now().topology.circuits().on_failure();
  }
  // Moves the circuits that have another path off the link or node.
  void MoveOff(const Fault& fault, Deadline deadline);
  // A person took the fault down at this data plane.
  void Adopt(const Fault& fault, const DataPlane& plane);
  // Notes in the intent that the fault is down, or up, and adds an event. Returns the inputs of the
  // circuits that cross it. `data_plane`: where somebody else took it down; empty: a client did.
  std::vector<Row> Apply(const Fault& fault, bool down, const std::string& data_plane);
  void TellCircuits(const std::vector<Row>& inputs);

  LoadedIntent& intent_;
  CircuitCommit& commit_;
  EventLog& events_;
};

}  // namespace bfly::control
