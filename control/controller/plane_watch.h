// SPDX-License-Identifier: Apache-2.0
// Looks at data planes: whether each is there, and whether it holds what it should.
//
// A data plane is gone when its connection breaks or nobody listens at its address: its process has
// ended. A data plane that does not answer in time while its connection stands may only be busy, so
// changes go on and wait for it. It counts as gone when it has missed several looks in a row.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "control/controller/controller_options.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"

namespace bfly::control {

class PlaneWatch {
 public:
  // All must outlive the object.
  PlaneWatch(const ControllerOptions& options, LoadedIntent& intent, Reconciler& reconciler)
      : options_(options), intent_(intent), reconciler_(reconciler) {}

  // Looks at all of them at once, so that one that hangs keeps the others from nothing. Reconciles
  // those that are not in step, and takes the change lock for that.
  void LookAt(const DataPlanes& planes);

 private:
  void LookAt(DataPlane& plane);
  // Returns whether the data plane needs no further look: it is in step, or did not answer.
  bool Look(DataPlane& plane);
  void Miss(DataPlane& plane, const absl::Status& why);

  const ControllerOptions& options_;
  LoadedIntent& intent_;
  Reconciler& reconciler_;
};

}  // namespace bfly::control
