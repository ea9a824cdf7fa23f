// SPDX-License-Identifier: Apache-2.0
#include "control/controller/fabric_loader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/topology_file/planned_faults.h"

namespace bfly::control {

absl::StatusOr<std::unique_ptr<Intent>> FabricLoader::Make(const v1::Topology& topology,
                                                           uint64_t last_id) {
  auto intent =
      MakeIntent(topology, options_.run_directory, options_.owner, intent_.planes(), last_id);
  if (!intent.ok()) return intent;
  FabricState& state = (*intent)->state;
  // A fabric that is taken over keeps the faults that its data planes hold instead.
  for (const Fault& fault : PlannedFaults((*intent)->topology.faults(), state.network()).down()) {
    state.SetFault(fault, /*down=*/true);
  }
  return intent;
}

absl::Status FabricLoader::Verify(const v1::Topology& topology, Deadline deadline) {
  const auto intent = Make(topology, 0);
  if (!intent.ok()) return intent.status();
  return VerifyAll(**intent, deadline);
}

absl::Status FabricLoader::Load(const v1::Topology& topology, bool replace, uint64_t election_id,
                                Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  const Intent* before = intent_.is_loaded() ? &intent_.now() : nullptr;
  if (before != nullptr && !replace) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat("fabric \"", before->topology.name(),
                                     "\" is loaded; unload it first, or set replace"));
  }
  auto intent = Make(topology, intent_.last_circuit_id());
  if (!intent.ok()) return intent.status();
  absl::Status status = VerifyAll(**intent, deadline);
  // The data planes are claimed before the fabric that runs is given up for one that cannot be
  // loaded.
  if (status.ok()) {
    status = ClaimAll(**intent, before == nullptr ? DataPlanes() : before->planes, deadline);
  }
  if (!status.ok()) return status;

  if (before != nullptr) UnloadAll(*before, deadline, options_.log);
  status = LoadPlanes(**intent, replace, deadline);
  if (!status.ok()) {
    if (before != nullptr) Restore(deadline);
    return status;
  }
  options_.log(absl::StrCat("fabric ", (*intent)->topology.name(), " loaded"));
  Replace(*std::move(intent));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LastFigures>> FabricLoader::Unload(uint64_t election_id,
                                                              Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = intent_.CheckLoaded(); !status.ok()) return status;
  std::vector<LastFigures> last = UnloadAll(intent_.now(), deadline, options_.log);
  options_.log(absl::StrCat("fabric ", intent_.now().topology.name(), " unloaded"));
  Replace(nullptr);
  return last;
}

absl::Status FabricLoader::LoadPlanes(const Intent& intent, bool take_over, Deadline deadline) {
  return LoadAll(intent, take_over, deadline,
                 [&](const std::shared_ptr<DataPlane>& plane) { GiveUp(intent, plane); });
}

void FabricLoader::GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane) {
  plane->Learn([&](DataPlane::Known& known) {
    known.in_step = false;
    known.problem = absl::StrCat("was told to load fabric \"", intent.topology.name(),
                                 "\" and did not answer; it is unloaded once it does");
    known.given_up = std::make_shared<const v1::Topology>(intent.topology);
  });
  intent_.WatchToo(plane);
}

void FabricLoader::Restore(Deadline deadline) {
  const Intent& intent = intent_.now();
  absl::Status status = CheckTime(deadline);
  if (status.ok()) status = LoadPlanes(intent, /*take_over=*/true, deadline);
  for (const auto& plane : intent.planes) {
    if (status.ok()) status = reconciler_.Reconcile(*plane, deadline);
  }
  if (status.ok()) {
    options_.log(absl::StrCat("fabric ", intent.topology.name(), " runs again"));
    return;
  }
  // The watching thread loads the data planes one by one as they answer.
  for (const auto& plane : intent.planes) MarkOutOfStep(*plane, status);
  options_.log(absl::StrCat("fabric ", intent.topology.name(),
                            " could not be loaded again at once: ", status.message()));
}

void FabricLoader::Replace(std::unique_ptr<Intent> intent) {
  const absl::Status status =
      intent == nullptr ? store_.Remove() : store_.Begin(NameForStore(intent->topology));
  if (!status.ok()) options_.log(std::string(status.message()));
  resources_.FitTo(intent == nullptr ? 0 : intent->state.network().rows());
  intent_.Replace(std::move(intent));
}

}  // namespace bfly::control
