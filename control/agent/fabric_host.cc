// SPDX-License-Identifier: Apache-2.0
#include "control/agent/fabric_host.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/agent/fabric_faults.h"
#include "control/agent/sources.h"
#include "control/status/field_errors.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"

namespace bfly::control {
namespace {

std::string NewBootId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

// Revisions of two processes must differ, whatever the clocks of the processes say. They start at
// random, and 2^31 changes do not reach another start.
uint64_t FirstRevision() {
  std::random_device random;
  return uint64_t{random()} << 31 | 1;
}

// Notes what was given to the fabric, and returns the status of the fabric's answer. A worker that
// was late takes the new values up when it goes on, so they are noted then, too.
template <typename T>
absl::Status NoteIfTaken(const absl::Status& answer, const T& given, T& noted) {
  if (answer.ok() || absl::IsDeadlineExceeded(answer)) noted = given;
  return answer;
}

absl::Status CheckUpdate(const std::vector<HeldCircuit>& install, const std::vector<Row>& remove,
                         const Network& network) {
  for (size_t i = 0; i < install.size(); ++i) {
    if (install[i].input >= network.rows()) {
      return OutOfRange(absl::StrCat("install[", i, "].input"), install[i].input, 0,
                        network.rows() - 1);
    }
    const TagLayout& layout = network.tag_layout();
    if (install[i].tag >> layout.bits() != 0) {
      return OutOfRange(absl::StrCat("install[", i, "].tag"), install[i].tag, 0,
                        (Tag{1} << layout.bits()) - 1);
    }
    if (!layout.HasOnlyPorts(install[i].tag, layout.hops)) {
      return absl::OutOfRangeError(absl::StrCat("install[", i, "].tag: ", install[i].tag,
                                                " names a port beyond the ", layout.multiplicity,
                                                " of a direction"));
    }
  }
  for (size_t i = 0; i < remove.size(); ++i) {
    if (remove[i] >= network.rows()) {
      return OutOfRange(absl::StrCat("remove[", i, "]"), remove[i], 0, network.rows() - 1);
    }
  }
  return absl::OkStatus();
}

// The config of data plane `name`, checked as far as the topology says.
absl::StatusOr<dataplane::FabricConfig> ConfigOf(v1::Topology topology, const std::string& name) {
  FieldErrors errors;
  for (const Violation& violation : CheckTopology(&topology)) {
    errors.Add(absl::StrCat("topology.", violation.field), violation.message);
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return ToFabricConfig(topology, name);
}

// The same, checked against the machine, too.
absl::StatusOr<dataplane::FabricConfig> VerifiedConfig(const v1::Topology& topology,
                                                       const std::string& name,
                                                       const FabricBackend& backend) {
  absl::StatusOr<dataplane::FabricConfig> config = ConfigOf(topology, name);
  if (!config.ok()) return config.status();
  FieldErrors errors;
  for (const absl::Status& status : backend.verify(*config)) {
    errors.Add(WithPrefix(status, "topology"));
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return config;
}

}  // namespace

FabricHost::FabricHost(FabricBackend backend, std::string name, Ownership::Clock clock)
    : backend_(std::move(backend)),
      name_(std::move(name)),
      boot_id_(NewBootId()),
      ownership_(std::move(clock)),
      revision_(FirstRevision()) {}

FabricHost::~FabricHost() { Unload().IgnoreError(); }

absl::Status FabricHost::Verify(const v1::Topology& topology) const {
  return VerifiedConfig(topology, name_, backend_).status();
}

absl::Status FabricHost::CheckLoaded() const {
  if (fabric_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("data plane ", name_, " has no fabric loaded"));
}

absl::StatusOr<uint64_t> FabricHost::Load(const v1::Topology& topology,
                                          const std::vector<Fault>& down,
                                          const v1::PortChanges& changes, bool joins) {
  const std::lock_guard change(change_);
  // Only changes write fabric_, and they hold change_.
  if (fabric_ != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("data plane ", name_, " runs fabric \"",
                                                      topology_.name(), "\"; unload it first"));
  }
  absl::StatusOr<dataplane::FabricConfig> config = VerifiedConfig(topology, name_, backend_);
  if (!config.ok()) return config.status();
  if (absl::Status status = BeginWithFaults(down, *config); !status.ok()) return status;
  for (dataplane::TrunkConfig& trunk : config->trunks) trunk.joins = joins;
  // Devices may take long to open. Meanwhile readers see a data plane without a fabric.
  absl::StatusOr<std::unique_ptr<dataplane::Fabric>> fabric = backend_.load(*config);
  if (!fabric.ok()) return fabric.status();
  FaultSet faults((*fabric)->network());
  for (const Fault& fault : down) faults.SetFault(fault, /*down=*/true);

  const std::unique_lock state(state_);
  fabric_ = *std::move(fabric);
  ++loads_;
  topology_ = topology;
  port_changes_ = changes;
  circuits_.assign(fabric_->network().rows(), Slot{});
  faults_.emplace(std::move(faults));
  link_changes_.Clear();
  sources_.clear();
  latency_id_ = 0;
  return ++revision_;
}

absl::StatusOr<dataplane::Snapshot> FabricHost::Unload() {
  const std::lock_guard change(change_);
  const std::unique_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  if (absl::Status status = fabric_->Unload(); !status.ok()) return status;
  const std::unique_lock nobody_uses_it(in_use_);
  dataplane::Snapshot last = fabric_->summary();
  faults_.reset();
  fabric_.reset();
  topology_.Clear();
  port_changes_.Clear();
  circuits_.clear();
  link_changes_.Clear();
  sources_.clear();
  latency_id_ = 0;
  ++revision_;
  return last;
}

absl::StatusOr<uint64_t> FabricHost::UpdateCircuits(const std::vector<HeldCircuit>& install,
                                                    const std::vector<Row>& remove,
                                                    uint64_t base_revision) {
  const std::lock_guard change(change_);
  const std::unique_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  if (base_revision != 0 && base_revision != revision_) {
    return absl::AbortedError(absl::StrCat("base_revision: ", base_revision,
                                           " is not the current revision, ", revision_));
  }
  if (absl::Status status = CheckUpdate(install, remove, fabric_->network()); !status.ok()) {
    return status;
  }

  std::vector<std::pair<Row, Slot>> before;
  before.reserve(install.size() + remove.size());
  const auto put = [this](Row input, const Slot& slot) {
    const absl::Status status =
        slot.held ? fabric_->InstallCircuit(input, slot.tag) : fabric_->RemoveCircuit(input);
    if (status.ok()) circuits_[input] = slot;
    return status;
  };
  absl::Status status = absl::OkStatus();
  const auto change_slot = [&](Row input, const Slot& slot) {
    if (!status.ok() || (!slot.held && !circuits_[input].held)) return;
    before.push_back({input, circuits_[input]});
    status = put(input, slot);
  };
  for (Row input : remove) change_slot(input, Slot{});
  for (const HeldCircuit& c : install)
    change_slot(c.input, {.held = true, .tag = c.tag, .id = c.id, .object = c.object});
  if (!status.ok()) {
    for (auto it = before.rbegin(); it != before.rend(); ++it)
      put(it->first, it->second).IgnoreError();
    return status;
  }
  return ++revision_;
}

absl::Status FabricHost::SetSources(const std::vector<v1::TrafficSource>& sources,
                                    uint64_t latency_id) {
  const std::lock_guard change(change_);
  const std::unique_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  absl::StatusOr<std::vector<dataplane::SourceConfig>> configs =
      ToSourceConfigs(sources, fabric_->network().rows(), fabric_->config().max_frame_bytes);
  if (!configs.ok()) return configs.status();
  // Sources that the fabric refuses do not end a recording.
  absl::Status status =
      dataplane::CheckSources(*configs, fabric_->network(), fabric_->stages().first);
  if (!status.ok()) return status;
  // Recording starts first, so that no packet of a new source is missed.
  if (latency_id > latency_id_ || (latency_id == 0 && latency_id_ != 0)) {
    const auto recorded = fabric_->RecordLatency(latency_id != 0);
    if (!recorded.ok()) return recorded.status();
  }
  latency_id_ = latency_id;
  return NoteIfTaken(fabric_->SetSources(*configs), sources, sources_);
}

absl::Status FabricHost::SetFault(const Fault& fault, bool down) {
  const std::lock_guard change(change_);
  const std::unique_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  FaultSet after = *faults_;
  if (absl::Status status = TellFabric(fault, down, *fabric_, after); !status.ok()) return status;
  TellAvoided(after, *fabric_);
  if (down) fabric_->EndPasses();
  faults_ = std::move(after);
  return absl::OkStatus();
}

absl::Status FabricHost::SetLinks(const LinkOverrides& changes) {
  const std::lock_guard change(change_);
  const std::unique_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  FieldErrors errors;
  for (const Violation& violation : CheckLinkChanges(changes, fabric_->network())) {
    errors.Add(violation.field, violation.message);
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  const auto plan = ToLinkPlan(topology_.links(), changes, fabric_->network());
  if (!plan.ok()) return plan.status();
  return NoteIfTaken(fabric_->SetLinks(*plan), changes, link_changes_);
}

absl::Status FabricHost::SetPorts(const v1::AgentPortsRequest& request) {
  const std::lock_guard change(change_);
  // Only changes write what is read here, and they hold change_.
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  v1::Topology topology = topology_;
  *topology.mutable_ports() = request.ports();
  *topology.mutable_hosts() = request.hosts();
  const absl::StatusOr<dataplane::FabricConfig> config = ConfigOf(topology, name_);
  if (!config.ok()) return config.status();
  std::vector<std::string> lost;
  const absl::Status status = ChangePorts(*config, backend_.check_device, *fabric_, lost);
  const std::unique_lock state(state_);
  if (!status.ok()) {
    RemovePorts(lost, topology_);
    return status;
  }
  topology_ = std::move(topology);
  port_changes_ = request.changes();
  return absl::OkStatus();
}

HeldFabric FabricHost::held(bool full) const {
  const std::shared_lock state(state_);
  HeldFabric held;
  held.loaded = fabric_ != nullptr;
  held.revision = revision_;
  if (fabric_ == nullptr) return held;
  held.placement = fabric_->config().placement;
  held.ports = fabric_->port_status();
  held.problems = fabric_->problems();
  held.worker_passes = fabric_->worker_passes();
  if (!full) return held;
  held.topology = topology_;
  held.down_links = faults_->down_links();
  held.down_nodes = faults_->down_nodes();
  held.link_changes = link_changes_;
  held.port_changes = port_changes_;
  held.sources = sources_;
  held.latency_id = latency_id_;
  for (Row input = 0; input < circuits_.size(); ++input) {
    const Slot& slot = circuits_[input];
    if (slot.held) held.circuits.push_back({input, slot.tag, slot.id, slot.object});
  }
  return held;
}

absl::StatusOr<FabricHost::Traffic> FabricHost::traffic() const {
  const std::shared_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  return Traffic{.sources = fabric_->sources(), .latency = fabric_->latency()};
}

absl::StatusOr<FabricInUse> FabricHost::Use(std::optional<FaultSet>* faults) {
  const std::shared_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  if (faults != nullptr) *faults = *faults_;
  return FabricInUse{.in_use = std::shared_lock(in_use_), .fabric = fabric_.get()};
}

absl::StatusOr<dataplane::Snapshot> FabricHost::snapshot(bool links) const {
  const std::shared_lock state(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  return links ? fabric_->snapshot() : fabric_->summary();
}

bool FabricHost::Read(const std::function<void(const dataplane::Fabric&)>& read) const {
  const std::shared_lock state(state_);
  if (fabric_ != nullptr) read(*fabric_);
  return fabric_ != nullptr;
}

absl::StatusOr<dataplane::LinkReading> FabricHost::ReadLinks(
    const dataplane::LinkQuery& query) const {
  // A change waits no longer than it takes to look at this many links.
  constexpr uint64_t kLinksAtOnce = 1 << 20;
  std::optional<dataplane::LinkScan> scan;
  uint64_t load = 0;
  for (;;) {
    const std::shared_lock state(state_);
    if (absl::Status status = CheckLoaded(); !status.ok()) return status;
    if (!scan.has_value()) {
      if (absl::Status status = CheckQuery(query, fabric_->network()); !status.ok()) return status;
      load = loads_;
      scan.emplace(query, *fabric_);
    }
    if (load != loads_) {
      return absl::AbortedError(
          absl::StrCat("data plane ", name_, " was loaded anew while its links were read"));
    }
    if (!scan->Continue(*fabric_, kLinksAtOnce)) return scan->Take(*fabric_);
  }
}

}  // namespace bfly::control
