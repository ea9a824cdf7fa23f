// SPDX-License-Identifier: Apache-2.0
// What is executed on the intent of the fabric as one: the orders of one call, or of one message of
// a stream.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "control/controller/arbitration.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

class Plan {
 public:
  virtual ~Plan() = default;
  // A quick plan may be carried out by the thread of gRPC's that it came on: it takes no longer
  // than one message of a stream, and it stores nothing.
  virtual bool IsQuick() const { return true; }
  // After an error the plan is not executed: nobody waits for it any more.
  virtual absl::Status IsWanted() const { return absl::OkStatus(); }
  // Tells the plans of one connection from those of others. Each gets its turn.
  virtual uint64_t caller() const { return 0; }
  // Executes the orders that `arbitration` permits and keeps their outcomes. It may be called more
  // than once, each time on a state without what it did before.
  virtual void Execute(FabricState& state, const Arbitration& arbitration) = 0;
  // Called once, on any thread. If `status` is an error, the plan changed nothing.
  virtual void Done() = 0;

  absl::Status status;
  uint64_t serial = 0;  // of the queue
};

}  // namespace bfly::control
