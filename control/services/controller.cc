// SPDX-License-Identifier: Apache-2.0
#include "control/services/controller.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/store/sqlite_store.h"
#include "control/topology_file/describe.h"

namespace bfly::control {
namespace {

Controller::Options WithOwner(Controller::Options options) {
  if (options.owner.id().empty()) {
    std::random_device random;
    options.owner.set_id(absl::StrCat(random(), "-", random(), "-", random()));
    options.owner.set_name(absl::StrCat("process ", getpid()));
  }
  return options;
}

std::unique_ptr<Store> StoreOf(const std::string& run_directory) {
  if (run_directory.empty()) return MakeForgetfulStore();
  return std::make_unique<SqliteStore>(run_directory + "/objects.db");
}

}  // namespace

Controller::Controller(Options options)
    : options_(WithOwner(std::move(options))),
      arbitration_(options_.operator_id),
      store_(StoreOf(options_.run_directory)) {
  for (const std::string& address : AgentAddresses()) {
    unheard_.push_back({address, std::make_unique<AgentClient>(address, options_.owner)});
  }
  Adopt();
  watch_ = std::thread([this] { Watch(); });
}

Controller::~Controller() {
  {
    const std::lock_guard lock(watch_mutex_);
    stopping_ = true;
  }
  watch_changed_.notify_all();
  watch_.join();
  // The controller that is started next need not wait until this one counts as silent.
  if (intent_ != nullptr) ReleaseAll(intent_->planes);
}

absl::Status Controller::CheckLoaded() const {
  if (intent_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("no fabric is loaded; load one with `bfly up FILE`");
}

absl::StatusOr<std::unique_lock<ChangeLock>> Controller::BeginChange(uint64_t election_id,
                                                                     Deadline deadline) {
  std::unique_lock change(change_, std::defer_lock);
  if (!change.try_lock_until(deadline)) {
    return absl::DeadlineExceededError(
        "other changes took until the deadline of the call; nothing was changed");
  }
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  return change;
}

absl::Status Controller::CheckUsable() const {
  for (const auto& plane : intent_->planes) {
    if (plane->usable()) continue;
    return absl::UnavailableError(absl::StrCat("data plane ", plane->name(), " at ",
                                               plane->address(), ": ", plane->known().problem));
  }
  return absl::OkStatus();
}

void Controller::CarryOut(const std::vector<Plan*>& plans) {
  absl::Status status = CheckLoaded();
  if (status.ok()) status = CheckUsable();
  for (Plan* plan : plans) plan->status = status;
  if (status.ok()) CarryOutUsable(plans);
}

void Controller::CarryOutUsable(const std::vector<Plan*>& plans) {
  const auto execute = [&](FabricState& state) {
    for (Plan* plan : plans) plan->Execute(state, arbitration_);
  };
  absl::Status status = TryCarryOut(execute);
  // The data plane restarted, or was changed by somebody else, since it was last looked at.
  if (absl::IsAborted(status) || absl::IsFailedPrecondition(status)) {
    status = Reconcile(intent_->ingress());
    if (status.ok()) {
      status = TryCarryOut(execute);
    } else {
      status = AtIngress(absl::UnavailableError(status.message()));
    }
  }
  if (status.ok()) return;
  if (!IsUnreachable(status) && plans.size() > 1) {
    // One of them cannot be done: the others shall not suffer for it.
    for (Plan* plan : plans) CarryOutUsable({plan});
    return;
  }
  const absl::Status failed(IsUnreachable(status) ? absl::StatusCode::kUnavailable : status.code(),
                            absl::StrCat(status.message(), "; nothing was changed"));
  for (Plan* plan : plans) plan->status = failed;
}

absl::Status Controller::TryCarryOut(const std::function<void(FabricState&)>& execute,
                                     Deadline deadline) {
  FabricState& state = intent_->state;
  CircuitChange change;
  PlacedRecords placed;
  {
    const std::unique_lock lock(state_);
    execute(state);
    change = state.changed_circuits();
    placed = state.change().placed();
  }
  absl::Status status = store_->Append(placed.records);
  if (status.ok()) {
    status = Push(change, deadline);
    if (!status.ok() && !placed.records.empty()) store_->TakeBack().IgnoreError();
    // What was placed before is needed no more; the store is right with it, too.
    if (status.ok() && placed.replaces) store_->KeepLast().IgnoreError();
  }
  const std::unique_lock lock(state_);
  if (status.ok()) {
    Settle(change);
  } else {
    state.RollBack();
  }
  return status;
}

void Controller::Settle(const CircuitChange& change) {
  intent_->state.Commit();
  feed_.Tell(change);
}

absl::Status Controller::Watch(CircuitListener* listener,
                               const std::function<absl::Status(const Network&)>& check) {
  absl::Status status;
  // Changes are told with the lock held exclusively, so none is lost between the two lines.
  ReadCommitted([&] {
    status = CheckLoaded();
    if (status.ok()) status = check(intent_->state.network());
    if (!status.ok()) return;
    listener->OnFabric(intent_->state.shared_network(), intent_->state.circuits());
    feed_.Add(listener);
  });
  return status;
}

absl::Status Controller::Push(const CircuitChange& change, Deadline deadline) {
  if (change.empty()) return absl::OkStatus();
  DataPlane& ingress = intent_->ingress();
  v1::AgentUpdateRequest request;
  request.mutable_install()->Reserve(static_cast<int>(change.install.size()));
  for (const StandingCircuit& circuit : change.install) {
    v1::AgentCircuit* install = request.add_install();
    install->set_input(circuit.path.input);
    install->set_tag(circuit.path.tag);
    install->set_id(circuit.id);
    if (circuit.object.has_value()) install->set_object(*circuit.object);
  }
  request.mutable_remove()->Add(change.remove.begin(), change.remove.end());
  request.set_base_revision(ingress.known().revision);
  const absl::StatusOr<v1::AgentUpdateResponse> response =
      ingress.client().Update(std::move(request), deadline);
  ingress.Learn([&](DataPlane::Known& known) {
    if (response.ok()) {
      known.revision = response->revision();
    } else if (IsUnreachable(response.status())) {
      // Whether it was done is not known; the next look compares.
      known.reachable = false;
      known.in_step = false;
      known.problem = std::string(response.status().message());
    }
  });
  return AtIngress(response.status());
}

absl::Status Controller::AtIngress(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("data plane ", intent_->ingress().name(), ": ",
                                                  status.message()));
}

void Controller::ReadCommitted(const std::function<void()>& reader) const {
  {
    const std::shared_lock lock(state_);
    if (intent_ == nullptr || !intent_->state.shows_uncommitted()) return reader();
  }
  const std::unique_lock lock(state_);
  if (intent_ != nullptr && intent_->state.shows_uncommitted()) intent_->state.Withdraw();
  reader();
}

absl::Status Controller::Read(const std::function<void(const FabricState&)>& reader) const {
  absl::Status status;
  ReadCommitted([&] {
    status = CheckLoaded();
    if (status.ok()) reader(intent_->state);
  });
  return status;
}

absl::StatusOr<Controller::View> Controller::view(bool circuits) const {
  View view;
  const absl::Status status = Read([&](const FabricState& state) {
    view.name = intent_->topology.name();
    view.network = state.shared_network();
    view.planes = intent_->planes;
    if (circuits) view.circuits = state.load().counts();
    view.capacity = state.capacity();
    view.standing = state.size();
    view.broken = state.broken().size();
    view.blocking = state.blocking();
  });
  if (!status.ok()) return status;
  return view;
}

bool Controller::all_usable() const {
  const std::shared_lock lock(state_);
  return intent_ == nullptr || CheckUsable().ok();
}

DataPlanes Controller::planes() const {
  const std::shared_lock lock(state_);
  DataPlanes all = past_;
  if (intent_ != nullptr) all.insert(all.begin(), intent_->planes.begin(), intent_->planes.end());
  return all;
}

absl::StatusOr<v1::DescribeResponse> Controller::Describe(bool links) const {
  const absl::StatusOr<View> loaded = view(/*circuits=*/false);
  if (!loaded.ok()) return loaded.status();
  return DescribeNetwork(*loaded->network, loaded->name, links);
}

v1::FabricStatus Controller::Status() {
  v1::FabricStatus status;
  uint64_t objects = 0;
  uint64_t sources = 0;
  uint64_t source_bytes = 0;
  Read([&](const FabricState& state) {
    const Network& network = state.network();
    status.set_loaded(true);
    status.set_name(intent_->topology.name());
    status.set_kind(std::string(KindName(network.kind())));
    status.set_rows(network.rows());
    status.set_stages(network.stages());
    status.set_ports(static_cast<uint32_t>(network.ports()));
    status.set_circuits(state.size());
    status.set_broken_circuits(state.broken().size());
    objects = state.objects().size();
    sources = state.traffic().sources().size();
    source_bytes = state.traffic().bytes();
  }).IgnoreError();
  resources_.objects.Set(objects);
  resources_.sources.Set(sources);
  resources_.source_bytes.Set(source_bytes);
  resources_.elections.Set(arbitration_.clients());
  status.set_primary_election_id(arbitration_.primary());
  for (const auto& plane : planes()) {
    const DataPlane::Known known = plane->known();
    v1::DataPlaneStatus* out = status.add_data_planes();
    *out = known.status;
    out->set_name(plane->name());
    out->set_address(plane->address());
    if (!known.reachable) out->set_state(v1::DataPlaneStatus::UNREACHABLE);
    out->set_reconciled(known.reconciled);
    if (!known.problem.empty()) out->set_problem(known.problem);
  }
  return status;
}

}  // namespace bfly::control
