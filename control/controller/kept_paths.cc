// SPDX-License-Identifier: Apache-2.0
#include "control/controller/kept_paths.h"

#include <utility>

#include "control/controller/schedule_request.h"
#include "control/intent/links.h"

namespace bfly::control {
namespace {

// A schedule that was kept, and what the choice of its paths depends on: the choice needs no lock.
struct KeptSchedule {
  v1::Schedule schedule;
  std::shared_ptr<const Network> network;
  Links links;
  LinkLoad load;
  absl::Status led_back;  // of CheckWayBack
};

KeptSchedule KeptScheduleOf(const Intent& intent) {
  return {.schedule = *intent.schedule,
          .network = intent.state.shared_network(),
          .links = intent.state.links(),
          .load = intent.state.load(),
          .led_back = CheckWayBack(*intent.schedule, intent)};
}

absl::StatusOr<RoutedSchedule> RouteKept(const KeptSchedule& kept, const Interrupt& interrupt) {
  if (!kept.led_back.ok()) return kept.led_back;
  absl::StatusOr<RoutedSchedule> routed =
      RouteSchedule(kept.schedule, kept.links, kept.load, interrupt);
  if (absl::IsUnavailable(routed.status()) || absl::IsResourceExhausted(routed.status())) {
    // On a fabric of its own it must have room.
    routed = RouteSchedule(kept.schedule, Links(*kept.network, kept.links.capacity()),
                           LinkLoad(*kept.network), interrupt);
    if (!routed.ok()) return routed;
    auto beside =
        RouteSchedule(kept.schedule, Links(*kept.network, LinkCapacity()), kept.load, interrupt);
    if (absl::IsDeadlineExceeded(beside.status()) || absl::IsCancelled(beside.status())) {
      return beside;
    }
    // Some protocols leave out the links of circuits that stand.
    if (beside.ok()) routed = std::move(beside);
  }
  if (routed.ok()) CountBroken(kept.links.faults(), *routed);
  return routed;
}

absl::StatusOr<KeptPaths::Chosen> Choose(const KeptSchedule& kept, const Interrupt& interrupt) {
  absl::StatusOr<RoutedSchedule> routed = RouteKept(kept, interrupt);
  if (!routed.ok()) return routed.status();
  return KeptPaths::Chosen{kept.network, kept.links.faults().down(), *std::move(routed)};
}

}  // namespace

absl::StatusOr<KeptPaths::Chosen> KeptPaths::PathsFor(const Intent& intent,
                                                      const Interrupt& interrupt) {
  if (chosen_.has_value() && chosen_->network == intent.state.shared_network()) return *chosen_;
  absl::StatusOr<Chosen> chosen = Choose(KeptScheduleOf(intent), interrupt);
  if (chosen.ok()) chosen_ = *chosen;
  return chosen;
}

absl::Status KeptPaths::ChooseAhead(const LoadedIntent& intent, std::unique_lock<TimedLock>& change,
                                    const std::atomic<bool>& stops) {
  const KeptSchedule kept = KeptScheduleOf(intent.now());
  change.unlock();
  const auto is_loaded = [&] {
    return intent.network() == kept.network && !stops
               ? absl::OkStatus()
               : absl::CancelledError("it is not wanted any more");
  };
  absl::StatusOr<Chosen> chosen = Choose(kept, is_loaded);
  change.lock();
  if (!is_loaded().ok()) return absl::OkStatus();
  const std::optional<v1::Schedule>& now = intent.now().schedule;
  if (!now.has_value() || now->SerializeAsString() != kept.schedule.SerializeAsString()) {
    return absl::OkStatus();
  }
  if (!chosen.ok()) return chosen.status();
  chosen_ = *std::move(chosen);
  return absl::OkStatus();
}

}  // namespace bfly::control
