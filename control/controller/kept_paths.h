// SPDX-License-Identifier: Apache-2.0
// The paths with which a schedule that was kept begins again.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/timed_lock.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

// Every call needs the change lock.
class KeptPaths {
 public:
  struct Chosen {
    std::shared_ptr<const Network> network;
    std::vector<Fault> faults;  // that the choice saw
    RoutedSchedule routed;
  };

  // The paths of the schedule that `intent` has: those that were chosen before, or they are chosen
  // now. Links may have gone down since the schedule ran, and circuits may have been set up beside
  // it, and it ran on. So where it finds no way around such links it begins again over them; paths
  // over links that are down are counted as broken. `interrupt` as in RouteSchedule.
  absl::StatusOr<Chosen> PathsFor(const Intent& intent, const Interrupt& interrupt);
  // Chooses them for a later PathsFor(), and gives `change`, the change lock, back meanwhile. Ends
  // early, with OK, once `stops` is true or another fabric or schedule is wanted.
  absl::Status ChooseAhead(const LoadedIntent& intent, std::unique_lock<TimedLock>& change,
                           const std::atomic<bool>& stops);
  // Another schedule was kept, or none.
  void Forget() { chosen_.reset(); }

 private:
  std::optional<Chosen> chosen_;
};

}  // namespace bfly::control
