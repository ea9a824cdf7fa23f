// SPDX-License-Identifier: Apache-2.0
// Keeps data planes in step with the intent: after either side restarted or a call was given up,
// the two are compared and the difference is made up. Nothing is cleared first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/fault_control.h"
#include "control/controller/intent_keeper.h"
#include "control/controller/link_control.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/port_control.h"
#include "control/controller/traffic_control.h"
#include "control/events/event_log.h"

namespace bfly::control {

class Reconciler {
 public:
  // FabricLoader::ResumeKept: makes what the store has of the loaded fabric the intent if the
  // ingress, which holds `held`, is not the process that had everything. Returns whether it did, or
  // why the store does not say what the ingress lacks.
  using ResumeKept = std::function<absl::StatusOr<bool>(const v1::AgentState& held)>;

  // Each of the four controls reconciles its own part.
  Reconciler(LoadedIntent& intent, IntentKeeper& keeper, FaultControl& faults,
             const LinkControl& links, const PortControl& ports, const TrafficControl& traffic,
             ResumeKept resume_kept, EventLog& events)
      : intent_(intent),
        keeper_(keeper),
        faults_(faults),
        links_(links),
        ports_(ports),
        traffic_(traffic),
        resume_kept_(std::move(resume_kept)),
        events_(events) {}

  // Compares what the data plane holds with the intent and makes up the difference. Needs the
  // change lock. An error says why the data plane is not in step; DEADLINE_EXCEEDED may be one.
  absl::Status Reconcile(DataPlane& plane, Deadline deadline = kNoDeadline);

 private:
  // Has the data plane hold the fabric of the intent, or no fabric that was given up. `held` is
  // what it holds then.
  absl::Status ReconcileFabric(DataPlane& plane, Deadline deadline, v1::AgentState& held);
  absl::Status UnloadLateFabric(DataPlane& plane, Deadline deadline, v1::AgentState& held);
  // Returns how many circuits were installed or removed.
  absl::StatusOr<uint64_t> ReconcileCircuits(DataPlane& plane, Deadline deadline,
                                             v1::AgentState& held);
  bool IsIngress(const DataPlane& plane) const;
  // Whether the data plane, which is part of the intent, runs a fabric that is not the intent's.
  bool RunsOther(const DataPlane& plane, const v1::AgentState& held) const;
  // The ingress holds all of the intent.
  void NoteWhole(const DataPlane& ingress);
  // Data planes other than `known` may have been compared before the intent was known.
  void CompareAgain(const DataPlane& known);
  // Takes circuits, sources and changes to links over from the data plane of stage 0.
  void Adopt(const v1::AgentState& held);
  void Learn(DataPlane& plane, const absl::StatusOr<v1::AgentState>& held,
             const absl::Status& status, uint64_t made_up);

  LoadedIntent& intent_;
  IntentKeeper& keeper_;
  FaultControl& faults_;
  const LinkControl& links_;
  const PortControl& ports_;
  const TrafficControl& traffic_;
  const ResumeKept resume_kept_;
  EventLog& events_;
};

}  // namespace bfly::control
