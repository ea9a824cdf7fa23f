// SPDX-License-Identifier: Apache-2.0
// Circuits that the stage workers set up and release themselves. The controller says what is wanted
// and learns what the workers chose.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/circuit_commit.h"
#include "control/controller/deadline.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"
#include "control/events/event_log.h"
#include "control/intent/in_band_order.h"
#include "control/intent/in_band_outcome.h"

namespace bfly::control {

class InBandSession {
 public:
  // Whoever has stage workers run a program holds `programs`, and takes it before the change lock.
  InBandSession(LoadedIntent& intent, CircuitCommit& commit, Reconciler& reconciler,
                TimedLock& programs, EventLog& events)
      : intent_(intent),
        commit_(commit),
        reconciler_(reconciler),
        programs_(programs),
        events_(events) {}

  // How long a caller waits.
  struct Patience {
    Interrupt interrupt;
    Deadline deadline = kNoDeadline;
  };
  struct Caller {
    uint64_t election_id = 0;
    std::string key;  // empty: none
    Patience patience;
  };
  using MakeOrder = std::function<absl::StatusOr<InBandOrder>(const Network&)>;
  // Has the stage workers carry out the order, and learns what they did. The same key with the same
  // order gets the same outcome again.
  // FAILED_PRECONDITION: the protocol is neither collision nor minimum. RESOURCE_EXHAUSTED names
  // the link without room, as a call without in_band would; then nothing was changed. If the caller
  // interrupts before the workers begin, nothing is done, and the call does not wait for other
  // changes any longer. If the caller interrupts while they work, what they did is undone. The call
  // waits for data planes until UndoDeadline: if no answer has come by then, DEADLINE_EXCEEDED, and
  // the circuits are compared anew.
  absl::StatusOr<InBandOutcome> Execute(const Caller& caller, const MakeOrder& make_order);

 private:
  // These calls need the change lock.
  absl::StatusOr<v1::AgentInBandResponse> Ask(v1::AgentInBandRequest& request, Deadline deadline);
  absl::Status LearnOfRefusal(const InBandOrder& order, const v1::AgentInBandRefusal& refusal);
  absl::StatusOr<InBandOutcome> LearnOutcome(const Caller& caller, const InBandOrder& order,
                                             const v1::AgentInBandRequest& request,
                                             const v1::AgentInBandResponse& response);
  // For this reason nobody knows what the data plane did.
  absl::Status OutcomeUnknown(const absl::Status& status);

  LoadedIntent& intent_;
  CircuitCommit& commit_;
  Reconciler& reconciler_;
  TimedLock& programs_;
  EventLog& events_;
};

}  // namespace bfly::control
