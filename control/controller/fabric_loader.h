// SPDX-License-Identifier: Apache-2.0
// Which fabric is loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/controller_options.h"
#include "control/controller/intent_keeper.h"
#include "control/controller/load_planes.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"
#include "control/controller/resources.h"

namespace bfly::control {

// How a fabric is to be loaded.
struct LoadWay {
  bool replace = false;  // a fabric that is loaded
  bool resume = false;   // with what is kept of it
};

// What became of what was kept; nothing: nothing was.
struct KeptBefore {
  std::optional<v1::KeptIntent> resumed, set_aside;
};

class FabricLoader {
 public:
  FabricLoader(const ControllerOptions& options, LoadedIntent& intent, IntentKeeper& keeper,
               Resources& resources, Reconciler& reconciler)
      : options_(options),
        intent_(intent),
        keeper_(keeper),
        resources_(resources),
        reconciler_(reconciler) {}

  // Changes nothing. INVALID_ARGUMENT names every error; UNAVAILABLE names a data plane that does
  // not answer.
  absl::Status Verify(const v1::Topology& topology, Deadline deadline);
  // Loads all data planes or none. FAILED_PRECONDITION if a fabric is loaded and not `replace`, or
  // if what is to be resumed is of another fabric. If a replacing fabric cannot be loaded, the one
  // before runs again, its circuits too.
  absl::StatusOr<KeptBefore> Load(const v1::Topology& topology, LoadWay way, uint64_t election_id,
                                  Deadline deadline);
  // If no fabric is loaded, makes the fabric that was loaded when the last controller ended the
  // loaded one, with all that is kept of it. Data planes are loaded as they answer. Returns false
  // if the store could not be read, so that nobody knows yet whether a fabric was loaded. Does
  // nothing, and returns true, once this controller had a fabric. Takes the change lock.
  bool ResumeLast();
  // The fabric was taken over from the data planes `found`, and no other data plane was told of it
  // yet. Takes over from the store the links and nodes that were down at data planes that have no
  // fabric any more, since no data plane that ran on knows of them. Needs the change lock.
  void TakeOverLostFaults(const DataPlanes& found);
  // The fabric was taken over, or resumed by ResumeLast, and its ingress answers for the first
  // time, with `held`. Makes what the store has of the fabric the intent if that process is not the
  // one that had everything, and returns true. Returns false if it is the one, or if the store has
  // nothing of this fabric: what the ingress holds is right then, and the store adds the schedule,
  // which may not have begun. An error of the store says why nobody knows what the ingress lacks;
  // FAILED_PRECONDITION: what the store has of this fabric does not fit it. Needs the change lock.
  absl::StatusOr<bool> ResumeKept(const v1::AgentState& held);
  // The store could not be read when the fabric was taken over, and was not written since. Takes
  // over a schedule that the store alone has, because it had not begun. Needs the change lock.
  void TakeOverSchedule();
  // Returns what each data plane counted at the very end.
  absl::StatusOr<std::vector<LastFigures>> Unload(uint64_t election_id, Deadline deadline);

 private:
  // The rest needs the change lock.
  absl::StatusOr<std::unique_ptr<Intent>> Make(const v1::Topology& topology, uint64_t last_id);
  // Makes it with all that is kept, and fills in `resumed`; if nothing is kept, as Make does.
  absl::StatusOr<std::unique_ptr<Intent>> MakeResumed(const v1::Topology& topology,
                                                      uint64_t last_id,
                                                      std::optional<v1::KeptIntent>& resumed);
  // Makes what LeftLoaded returned the loaded fabric, with all that is kept of it.
  // FAILED_PRECONDITION or INVALID_ARGUMENT: it does not fit any more. Other errors are the
  // store's.
  absl::Status ResumeLeft(const v1::AgentState& left);
  // Data planes get what loading alone does not give them: circuits, sources, changes to links. The
  // watching thread goes on where that fails.
  void PushResumed(Deadline deadline);
  absl::Status LoadPlanes(const Intent& intent, bool take_over, Deadline deadline);
  // Nobody knows whether `plane` has loaded `intent`. What it holds of it is unloaded as soon as
  // that is seen.
  void GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane);
  // Loads the fabric again that another was to replace.
  void Restore(Deadline deadline);
  // Adds an event of `intent`, which takes the place of `before` if that is given.
  void Note(v1::TopologyEvent::Change change, const Intent& intent, const Intent* before);
  void NoteFailed(const std::string& fabric, const std::string& reason);

  const ControllerOptions& options_;
  LoadedIntent& intent_;
  IntentKeeper& keeper_;
  Resources& resources_;
  Reconciler& reconciler_;
  std::string not_resumed_;  // why ResumeLeft failed last; empty: it did not
};

}  // namespace bfly::control
