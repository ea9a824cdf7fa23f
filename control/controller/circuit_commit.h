// SPDX-License-Identifier: Apache-2.0
// How a change to circuits, reads and objects comes to stand: it is executed on the intent, stored,
// pushed to the data plane that runs stage 0, and then committed and reported to listeners, or
// rolled back.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "control/controller/kept_objects.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/plan.h"
#include "control/store/store.h"

namespace bfly::control {

// Every call needs the change lock.
class CircuitCommit {
 public:
  // `reconcile` brings the data plane of stage 0 back in step. `store` keeps where objects are
  // placed, and `objects` are those that it had when the controller began.
  CircuitCommit(LoadedIntent& intent, Store& store, KeptObjects& objects,
                const Arbitration& arbitration, std::function<absl::Status()> reconcile)
      : intent_(intent),
        store_(store),
        objects_(objects),
        arbitration_(arbitration),
        reconcile_(std::move(reconcile)) {}

  // Executes the plans and commits them as one, and sets the status of each.
  void CommitPlans(const std::vector<Plan*>& plans);
  // Executes and commits, or changes nothing and returns an error. A fabric must be loaded, here
  // and below. While nobody knows which objects were placed before, none is placed: the error says
  // why the store cannot be read.
  absl::Status Commit(const std::function<void(FabricState&)>& execute,
                      Deadline deadline = kNoDeadline);
  // Executes `deal` for each of these inputs and commits all in one step where the data plane
  // allows it. An error means that the data plane cannot be asked now.
  absl::Status CommitEach(const std::vector<Row>& inputs,
                          const std::function<void(FabricState&, Row)>& deal, Deadline deadline);
  // Tells the data plane of stage 0 what stands now.
  absl::Status Push(const CircuitChange& change, Deadline deadline = kNoDeadline);

 private:
  // Commits the plans as one. If the data plane refuses one of them, commits each by itself.
  void CommitTogether(const std::vector<Plan*>& plans);
  // Says in the error that it comes from the data plane of stage 0.
  absl::Status AtIngress(const absl::Status& status) const;

  LoadedIntent& intent_;
  Store& store_;
  KeptObjects& objects_;
  const Arbitration& arbitration_;
  const std::function<absl::Status()> reconcile_;
};

}  // namespace bfly::control
