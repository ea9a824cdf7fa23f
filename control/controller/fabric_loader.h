// SPDX-License-Identifier: Apache-2.0
// Which fabric is loaded.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/controller_options.h"
#include "control/controller/load_planes.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"
#include "control/controller/resources.h"
#include "control/store/store.h"

namespace bfly::control {

class FabricLoader {
 public:
  FabricLoader(const ControllerOptions& options, LoadedIntent& intent, Store& store,
               Resources& resources, Reconciler& reconciler)
      : options_(options),
        intent_(intent),
        store_(store),
        resources_(resources),
        reconciler_(reconciler) {}

  // Changes nothing. INVALID_ARGUMENT names every error; UNAVAILABLE names a data plane that does
  // not answer.
  absl::Status Verify(const v1::Topology& topology, Deadline deadline);
  // Loads all data planes or none. FAILED_PRECONDITION if a fabric is loaded and not `replace`. If
  // a replacing fabric cannot be loaded, the one before runs again, its circuits too.
  absl::Status Load(const v1::Topology& topology, bool replace, uint64_t election_id,
                    Deadline deadline);
  // Returns what each data plane counted at the very end.
  absl::StatusOr<std::vector<LastFigures>> Unload(uint64_t election_id, Deadline deadline);

 private:
  // The rest needs the change lock.
  absl::StatusOr<std::unique_ptr<Intent>> Make(const v1::Topology& topology, uint64_t last_id);
  absl::Status LoadPlanes(const Intent& intent, bool take_over, Deadline deadline);
  // Nobody knows whether `plane` has loaded `intent`. What it holds of it is unloaded as soon as
  // that is seen.
  void GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane);
  // Loads the fabric again that another was to replace.
  void Restore(Deadline deadline);
  // Null: no fabric is loaded any more.
  void Replace(std::unique_ptr<Intent> intent);

  const ControllerOptions& options_;
  LoadedIntent& intent_;
  Store& store_;
  Resources& resources_;
  Reconciler& reconciler_;
};

}  // namespace bfly::control
