// SPDX-License-Identifier: Apache-2.0
#include "control/controller/controller.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/store/sqlite_store.h"
#include "control/topology_file/describe.h"

namespace bfly::control {
namespace {

// How long the watching thread waits before it reads again a store that could not be read.
constexpr std::chrono::seconds kReadAgain{1};

Controller::Options WithOwner(Controller::Options options) {
  if (options.caller.owner.id().empty()) {
    std::random_device random;
    options.caller.owner.set_id(absl::StrCat(random(), "-", random(), "-", random()));
    options.caller.owner.set_name(absl::StrCat("process ", getpid()));
  }
  return options;
}

std::unique_ptr<Store> StoreOf(const Controller::Options& options) {
  const std::string& directory =
      options.state_directory.empty() ? options.run_directory : options.state_directory;
  if (directory.empty()) return MakeForgetfulStore();
  return std::make_unique<SqliteStore>(directory + "/intent.db");
}

}  // namespace

Controller::Controller(Options options)
    : options_(WithOwner(std::move(options))),
      arbitration_(options_.operator_id,
                   [this](uint64_t id, uint64_t before) { NotePrimary(id, before); }),
      store_(StoreOf(options_)) {
  adoption_.Adopt();
  resume_left_ = options_.resume && !loader_.ResumeLast();
  watch_ = std::thread([this] { Watch(); });
}

Controller::~Controller() {
  {
    const std::lock_guard lock(watch_mutex_);
    stopping_ = true;
  }
  watch_changed_.notify_all();
  watch_.join();
  // The next controller need not wait until this one counts as silent.
  if (intent_.is_loaded()) ReleaseAll(intent_.now().planes);
}

void Controller::Watch() {
  std::unique_lock lock(watch_mutex_);
  while (!stopping_) {
    lock.unlock();
    adoption_.AdoptLate();
    ReadStoreLate();
    const DataPlanes planes = intent_.planes();
    plane_events_.KeepOnly(planes);
    plane_watch_.LookAt(planes);
    for (const auto& plane : planes) {
      plane_events_.Look(*plane, intent_.HasNow(*plane), PlaneEvents::Clock::now());
    }
    lock.lock();
    watch_changed_.wait_for(lock, options_.watch_interval, [this] { return stopping_; });
  }
}

void Controller::ReadStoreLate() {
  using Clock = std::chrono::steady_clock;
  if (!keeper_.is_unread() && !objects_.are_unknown() && !resume_left_) return;
  if (Clock::now() < next_read_) return;
  // A store that another process holds is waited for, so nobody else should wait for this.
  const bool can_be_read = store_->Read().ok();
  next_read_ = Clock::now() + kReadAgain;
  if (!can_be_read) return;
  {
    const std::lock_guard change(intent_.change_lock());
    // What the store alone knows is taken from it before it may be written.
    if (keeper_.is_unread() && intent_.is_loaded()) loader_.TakeOverSchedule();
    keeper_.ReadFirst();
    objects_.TakeOverLate().IgnoreError();
  }
  if (resume_left_) resume_left_ = !loader_.ResumeLast();
}

void Controller::NotePrimary(uint64_t election_id, uint64_t before) {
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  event.mutable_primary()->set_election_id(election_id);
  event.mutable_primary()->set_before(before);
  options_.events->Add(std::move(event));
}

absl::Status Controller::Read(const std::function<void(const FabricState&)>& reader) const {
  return intent_.Read([&](const Intent& intent) { reader(intent.state); });
}

absl::StatusOr<Controller::View> Controller::view(bool circuits) const {
  View view;
  const absl::Status status = intent_.Read([&](const Intent& intent) {
    const FabricState& state = intent.state;
    view.name = intent.topology.name();
    view.network = state.shared_network();
    view.restores = intent.restores;
    view.planes = intent.planes;
    if (circuits) view.circuits = state.load().counts();
    view.capacity = state.capacity();
    view.standing = state.size();
    view.broken = state.broken().size();
    view.blocking = state.blocking();
    if (!state.faults().empty()) view.faults = state.faults();
  });
  if (!status.ok()) return status;
  return view;
}

absl::StatusOr<v1::DescribeResponse> Controller::Describe(bool links) {
  const absl::StatusOr<View> loaded = view(/*circuits=*/false);
  if (!loaded.ok()) return loaded.status();
  v1::DescribeResponse description = DescribeNetwork(*loaded->network, loaded->name, links);
  if (loaded->faults.has_value()) {
    *description.mutable_faults() = fault_reports_.Of(loaded->network, *loaded->faults);
  }
  return description;
}

v1::FabricStatus Controller::Status() {
  v1::FabricStatus status;
  uint64_t objects = 0;
  uint64_t sources = 0;
  uint64_t source_bytes = 0;
  std::shared_ptr<const Network> network_of_faults;
  std::optional<FaultSet> faults;
  const auto fill = [&](const Intent& intent) {
    const FabricState& state = intent.state;
    const Network& network = state.network();
    status.set_loaded(true);
    status.set_name(intent.topology.name());
    status.set_kind(std::string(KindName(network.kind())));
    status.set_rows(network.rows());
    status.set_stages(network.stages());
    status.set_ports(static_cast<uint32_t>(network.ports()));
    status.set_circuits(state.size());
    status.set_broken_circuits(state.broken().size());
    status.set_store_problem(intent.store_problem);
    if (!state.faults().empty()) {
      network_of_faults = state.shared_network();
      faults = state.faults();
    }
    objects = state.objects().size();
    sources = state.traffic().sources().size();
    source_bytes = state.traffic().bytes();
  };
  intent_.Read(fill).IgnoreError();
  status.set_keeping_problem(keeper_.problem());
  if (const auto kept = keeper_.kept(); kept.has_value() && !status.loaded()) {
    *status.mutable_kept() = *kept;
  }
  if (faults.has_value()) *status.mutable_faults() = fault_reports_.Of(network_of_faults, *faults);
  resources_.objects.Set(objects);
  resources_.sources.Set(sources);
  resources_.source_bytes.Set(source_bytes);
  // TrafficControl counts the rows: lists of rows are long to read.
  if (sources == 0) resources_.source_rows.Set(0);
  resources_.elections.Set(arbitration_.clients());
  status.set_primary_election_id(arbitration_.primary());
  for (const auto& plane : intent_.planes()) {
    const DataPlane::Known known = plane->known();
    v1::DataPlaneStatus* out = status.add_data_planes();
    *out = known.status;
    out->set_name(plane->name());
    out->set_address(plane->address());
    if (!known.reachable) out->set_state(v1::DataPlaneStatus::UNREACHABLE);
    out->set_out_of_step(known.reachable && !known.in_step);
    out->set_reconciled(known.reconciled);
    if (!known.problem.empty()) out->set_problem(known.problem);
    if (known.reachable && known.late_looks > 0) {
      out->set_problem(absl::StrCat("answers late: ", known.late_looks, " of ", options_.late_looks,
                                    " looks in a row after which it counts as gone"));
    }
  }
  return status;
}

}  // namespace bfly::control
