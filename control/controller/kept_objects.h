// SPDX-License-Identifier: Apache-2.0
// Where the store says that objects are placed. A controller that starts takes that over, since no
// data plane knows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/resources.h"
#include "control/events/event_log.h"
#include "control/store/store.h"

namespace bfly::control {

class KeptObjects {
 public:
  // `reconcile` compares the data plane of stage 0 with the intent.
  KeptObjects(LoadedIntent& intent, Store& store, const Resources& resources, EventLog& events,
              std::function<absl::Status()> reconcile)
      : intent_(intent),
        store_(store),
        resources_(resources),
        events_(events),
        reconcile_(std::move(reconcile)) {}

  // Whether TakeOver failed for the loaded fabric; false also while a change is under way.
  // Thread-safe.
  bool are_unknown() const;

  // What follows needs the change lock, and nothing may be uncommitted.

  // Takes over the objects of the loaded fabric, which has none yet. An error is Store::Open's, and
  // stands in Intent::store_problem until a call succeeds.
  absl::Status TakeOver();
  // Does so if it failed before, and then finds out which of the objects are read. If circuits read
  // objects that nobody knew, the data plane of stage 0 must be usable: UNAVAILABLE says why it is
  // not. ABORTED, for which the store waits a second, is returned at once for the next second.
  absl::Status TakeOverLate();

 private:
  using Clock = std::chrono::steady_clock;
  using Reads = std::unordered_map<uint64_t, uint64_t>;  // objects by the ids of circuits

  // What the circuits in the store read, if they are of the loaded fabric.
  absl::StatusOr<Reads> KeptReads();
  // Circuits of the intent whose objects are not known read these. Returns whether there is one.
  bool NameReads(const Reads& reads);

  LoadedIntent& intent_;
  Store& store_;
  const Resources& resources_;
  EventLog& events_;
  const std::function<absl::Status()> reconcile_;
  absl::Status held_;         // why TakeOverLate failed last, if another process held the store
  Clock::time_point ask_at_;  // TakeOverLate returns held_ until then
};

}  // namespace bfly::control
