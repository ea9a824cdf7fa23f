// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_fabric.h"

#include <rte_cycles.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/memory_need.h"
#include "dataplane/fabric/read_accounts.h"
#include "dataplane/in_band/in_band_memory.h"
#include "dataplane/links/link_plan.h"
#include "dataplane/ports/device_node.h"
#include "dataplane/runtime/numa.h"

namespace bfly::dataplane {
namespace {

constexpr double kStopSeconds = 5;

Workers MakeWorkers(const FabricPlan& plan, IdleMode idle) {
  Workers workers;
  for (int lcore : plan.lcores) {
    const OnNode on(NodeOfLcore(lcore));
    workers.push_back(std::make_unique<Worker>(lcore, idle));
  }
  return workers;
}

InBandTrunks InBandTrunksOf(const LoadedPorts& ports, uint32_t max_frame_bytes) {
  InBandTrunks trunks;
  if (ports.trunk_in() != nullptr) trunks.upstream = ports.trunk_in()->wire();
  if (ports.trunk_out() != nullptr) {
    trunks.downstream = ports.trunk_out()->wire();
    trunks.downstream_name = ports.trunk_out()->config().name;
  }
  trunks.max_frame_bytes = max_frame_bytes;
  return trunks;
}

absl::Status CheckInput(Row input, const Network& network) {
  if (input < network.rows()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input: ", input, " is outside 0..", network.rows() - 1));
}

absl::Status CheckLink(const LinkId& link, const FabricPlan& plan, const Network& network) {
  if (link.stage < plan.first_stage || link.stage > plan.last_stage) {
    return absl::InvalidArgumentError(absl::StrCat("stage: ", link.stage, " is outside ",
                                                   plan.first_stage, "..", plan.last_stage,
                                                   ", the stages of this data plane"));
  }
  if (link.row >= network.rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat("row: ", link.row, " is outside 0..", network.rows() - 1));
  }
  if (link.port < 0 || link.port >= network.ports()) {
    return absl::InvalidArgumentError(
        absl::StrCat("port: ", link.port, " is outside 0..", network.ports() - 1));
  }
  return absl::OkStatus();
}

FaultSet FaultsAtLoad(const FabricConfig& config, const Network& network) {
  FaultSet faults(network);
  for (const uint64_t index : config.down_links) faults.SetLinkUp(network.link_at(index), false);
  return faults;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Fabric>> Fabric::Load(const FabricConfig& config) {
  return LoadedFabric::Load(config, nullptr);
}

LoadedFabric::LoadedFabric(const FabricConfig& config, Network network,
                           const std::string& hosts_file)
    : config_(config),
      network_(std::move(network)),
      routes_(network_, config.without_circuit),
      plan_(PlanFabric(config_, network_)),
      sources_(network_, routes_),
      workers_(MakeWorkers(plan_, config_.idle)),
      ports_(hosts_file, [this] { WaitForWorkers(); }),
      faults_(FaultsAtLoad(config_, network_)) {}

LoadedFabric::~LoadedFabric() {
  if (const absl::Status status = Unload(); !status.ok()) {
    // A worker still runs on this memory, so the process cannot go on.
    std::fprintf(stderr, "bfly: %s\n", std::string(status.message()).c_str());
    std::abort();
  }
}

absl::StatusOr<std::unique_ptr<LoadedFabric>> LoadedFabric::Load(const FabricConfig& config,
                                                                 const InletFactory& more_traffic,
                                                                 const std::string& hosts_file) {
  if (const std::vector<absl::Status> errors = Verify(config); !errors.empty())
    return errors.front();
  absl::StatusOr<Network> network = Network::Make(config.network);
  if (!network.ok()) return network.status();
  std::unique_ptr<LoadedFabric> fabric;
  {
    // Memory that several workers share, such as the routes, lies on the node of most of them.
    std::vector<int> lcores;
    for (const StagePlacement& part : config.placement) lcores.push_back(part.lcore);
    const OnNode on(NodeOfMost(lcores));
    fabric.reset(new LoadedFabric(config, *std::move(network), hosts_file));
    if (absl::Status status = fabric->Assemble(more_traffic); !status.ok()) return status;
  }
  if (absl::Status status = fabric->StartWorkers(); !status.ok()) return status;
  return fabric;
}

absl::Status LoadedFabric::Assemble(const InletFactory& more_traffic) {
  const absl::Status status = ports_.Open(config_, network_, routes_, plan_);
  if (!status.ok()) return status;
  for (size_t i = 0; i < plan_.segments.size() && plan_.segments[i].first_hop == 0; ++i) {
    const SegmentPlan& begin = plan_.segments[i];
    const OnNode on(workers_[begin.worker]->node());
    SourceInlet* const inlet = sources_.AddInlet(begin.rows, workers_[begin.worker]->epoch());
    workers_[begin.worker]->AddSources(inlet);
    assembly_.AddInlet(i, inlet);
    if (more_traffic) assembly_.AddInlet(i, more_traffic(network_, routes_, begin.rows));
  }
  assembly_.Build();
  AddGates();
  live_ports_.Start();
  const absl::Status offered = stages_.Offer(config_.links, shapes_taken_up_, retired_);
  if (!offered.ok()) return offered;
  // Messages of programs may come at any time from the previous data plane. Networks on which
  // circuits are not set up in band have none.
  if (!plan_.has_first_hop()) MakeInBand().IgnoreError();
  return absl::OkStatus();
}

void LoadedFabric::AddGates() {
  TellPrograms();
  for (size_t i = 0; i < plan_.segments.size() && plan_.segments[i].first_hop == 0; ++i) {
    Worker& worker = *workers_[plan_.segments[i].worker];
    const OnNode on(worker.node());
    assembly_.hop_segment(i).SetGate(schedules_.AddGate(plan_.segments[i].rows, worker));
  }
  for (const auto& egress : assembly_.egresses()) {
    if (egress != nullptr) schedules_.AddWayOut(egress.get());
  }
}

absl::Status LoadedFabric::StartWorkers() {
  const std::lock_guard<std::mutex> lock(control_);
  running_ = true;
  for (const auto& worker : workers_) {
    if (absl::Status status = worker->Start(); !status.ok()) return status;
  }
  ports_.Start();
  return absl::OkStatus();
}

absl::Status LoadedFabric::StopWorkers() {
  for (const auto& worker : workers_) worker->AskToStop();
  absl::Status status;
  for (const auto& worker : workers_) status.Update(worker->Join(kStopSeconds));
  return status;
}

absl::Status LoadedFabric::AddPort(const HostPortConfig& port) {
  if (absl::Status status = live_ports_.Add(port); !status.ok()) return status;
  TellPrograms();
  return absl::OkStatus();
}

absl::Status LoadedFabric::RemovePort(const std::string& name) {
  const absl::Status status = live_ports_.Remove(name);
  TellPrograms();
  return status;
}

void LoadedFabric::TellPrograms() {
  rte_mempool* const pool = ports_.frame_pool();
  if (pool != nullptr) schedules_.LimitFrames(pool->size / 2);
  const std::lock_guard<std::mutex> lock(control_);
  if (step_programs_ != nullptr) step_programs_->SetPorts(pool, ports_.HasPort(network_.rows()));
}

absl::Status LoadedFabric::Unload() {
  live_ports_.Stop();
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::OkStatus();
  if (in_band_owner_ != nullptr) in_band_owner_->Stop();
  if (step_programs_ != nullptr) step_programs_->Stop();
  if (absl::Status status = StopWorkers(); !status.ok()) return status;
  taps_.End();
  ports_.Stop();
  running_ = false;
  if (step_programs_ != nullptr) DiscardSteps();
  schedules_.DiscardTurningBack();
  assembly_.Discard();
  ports_.Close();
  return absl::OkStatus();
}

absl::Status LoadedFabric::InstallCircuit(Row input, Tag tag) {
  if (absl::Status status = CheckInput(input, network_); !status.ok()) return status;
  const TagLayout& layout = network_.tag_layout();
  if (tag >> layout.bits() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tag: ", tag, " has more than the ", layout.bits(), " bits of this network"));
  }
  if (!layout.HasOnlyPorts(tag, layout.hops)) {
    return absl::InvalidArgumentError(absl::StrCat("tag: ", tag, " names a port beyond the ",
                                                   layout.multiplicity, " of a direction"));
  }
  routes_.Install(input, tag);
  NoteCircuit(input);
  return absl::OkStatus();
}

absl::Status LoadedFabric::RemoveCircuit(Row input) {
  if (absl::Status status = CheckInput(input, network_); !status.ok()) return status;
  if (routes_.circuit(input) == 0)
    return absl::NotFoundError(absl::StrCat("input: row ", input, " has no circuit"));
  routes_.Remove(input);
  NoteCircuit(input);
  return absl::OkStatus();
}

void LoadedFabric::NoteCircuit(Row input) {
  LoadedInBand* const in_band = in_band_.load(std::memory_order_acquire);
  if (in_band != nullptr) in_band->NoteCircuit(input);
}

absl::StatusOr<InBand*> LoadedFabric::in_band() {
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  if (in_band_owner_ == nullptr) {
    if (absl::Status status = MakeInBand(); !status.ok()) return status;
  }
  return in_band_owner_.get();
}

absl::StatusOr<StepPrograms*> LoadedFabric::step_programs() {
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  if (absl::Status status = LoadedStepPrograms::Check(network_, plan_); !status.ok()) {
    return status;
  }
  if (step_programs_ == nullptr) MakeStepPrograms();
  return step_programs_.get();
}

void LoadedFabric::MakeStepPrograms() {
  StepFrameSupply supply{.pool = ports_.frame_pool(),
                         .max_bytes = config_.max_frame_bytes,
                         .has_port = ports_.HasPort(network_.rows()),
                         .to_everybody = config_.addressing.mode == AddressingMode::kIpv4Prefix};
  step_programs_ = std::make_unique<LoadedStepPrograms>(
      network_, plan_, [this](int stage, Row row) -> Stage& { return stages_.of(stage, row); },
      [this](Row row) -> Segment& { return assembly_.last_segment(row); }, std::move(supply),
      faults_, AvailableMemory);
  StageCrew& crew = step_programs_->crew();
  const auto set = [this, &crew](bool run) {
    for (size_t i = 0; i < workers_.size(); ++i) {
      workers_[i]->SetSteps(run ? crew.worker(static_cast<int>(i)) : nullptr);
    }
  };
  crew.Attach([leader = workers_[static_cast<size_t>(crew.leader())].get()] { leader->Pass(); },
              [set] { set(true); }, [set] { set(false); });
}

// A program whose workers stopped in the middle has left packets at its nodes.
void LoadedFabric::DiscardSteps() {
  step_programs_->WorkersStopped();
  for (size_t i = 0; i < workers_.size(); ++i) {
    StepWorker* const steps = step_programs_->crew().worker(static_cast<int>(i));
    if (steps != nullptr) steps->Discard(workers_[i]->stopped_account().ledger);
  }
}

absl::Status LoadedFabric::MakeInBand() {
  const uint64_t need =
      InBandMemoryNeed(network_, plan_.first_stage, plan_.last_stage, config_.circuit_capacity);
  const absl::Status room =
      CheckMemoryNeed(network_, need, AvailableMemory(), "messages of programs in band");
  if (!room.ok()) return room;
  absl::StatusOr<std::unique_ptr<LoadedInBand>> made =
      LoadedInBand::Make(network_, plan_, routes_, config_.circuit_capacity,
                         InBandTrunksOf(ports_, config_.max_frame_bytes));
  if (!made.ok()) return made.status();
  in_band_owner_ = *std::move(made);
  if (ports_.trunk_in() != nullptr) {
    ports_.trunk_in()->ways_in()[0].inlet->SetProgramFrames(in_band_owner_->from_before());
  }
  for (const LinkId& link : faults_.down_links()) in_band_owner_->SetLinkUp(link, false);
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->SetInBand(in_band_owner_->worker(static_cast<int>(i)));
  }
  // From here on changes are noted. A circuit that stands already is noted once or twice.
  in_band_.store(in_band_owner_.get(), std::memory_order_release);
  for (Row input = 0; input < network_.rows(); ++input) in_band_owner_->NoteCircuit(input);
  return absl::OkStatus();
}

std::vector<Fabric::Circuit> LoadedFabric::circuits() const {
  std::vector<Circuit> circuits;
  for (Row input = 0; input < network_.rows(); ++input) {
    const WireTag tag = routes_.circuit(input);
    if (tag == 0) continue;
    circuits.push_back({.input = input, .tag = FromWire(tag, network_.tag_layout().bits())});
  }
  return circuits;
}

absl::Status LoadedFabric::SetSources(const std::vector<SourceConfig>& sources) {
  const absl::Status status = CheckSources(sources, network_, plan_.first_stage);
  if (!status.ok()) return status;
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  if (!plan_.has_first_hop()) return absl::OkStatus();  // there are no sources
  return sources_.Replace(sources, retired_);
}

std::vector<SourceCounters> LoadedFabric::sources() const {
  const std::lock_guard<std::mutex> lock(control_);
  return sources_.counters();
}

absl::Status LoadedFabric::SetLinkUp(LinkId link, bool up) {
  if (absl::Status status = CheckLink(link, plan_, network_); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(control_);
  stages_.SetLinkUp(link, up);
  faults_.SetLinkUp(link, up);
  if (in_band_owner_ != nullptr) in_band_owner_->SetLinkUp(link, up);
  if (step_programs_ != nullptr) step_programs_->SetLinkUp(link, up);
  return absl::OkStatus();
}

void LoadedFabric::EndPasses() const { dataplane::EndPasses(workers_); }

void LoadedFabric::AvoidLinks(const std::vector<uint64_t>& links) {
  const std::lock_guard<std::mutex> lock(control_);
  stages_.AvoidLinks(links);
}

absl::Status LoadedFabric::SetLinks(const LinkPlan& plan) {
  if (absl::Status status = CheckLinkPlan(plan, network_); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  const auto deadline = std::chrono::steady_clock::now() + kTakeUpTime;
  const absl::Status offered = stages_.Offer(plan, shapes_taken_up_, retired_);
  if (!offered.ok()) return offered;
  // This also reaches workers that had not taken up an earlier plan in time.
  const bool taken_up = shapes_taken_up_.Wait(deadline);
  retired_.Collect();
  if (taken_up) return absl::OkStatus();
  return NotTakenUp("its links change when it does");
}

Snapshot LoadedFabric::summary() const {
  if (plan_.last_stage + 1 < network_.stages()) EndPasses();  // it sends to a trunk
  Snapshot snapshot;
  snapshot.tsc = rte_rdtsc();
  snapshot.tsc_hz = TscHz();
  snapshot.first_stage = plan_.first_stage;
  snapshot.last_stage = plan_.last_stage;
  ReadAccounts(workers_, snapshot);
  assembly_.ReadRings(snapshot.workers);
  snapshot.ports = ports_.counters(snapshot.removed_ports);
  return snapshot;
}

Snapshot LoadedFabric::snapshot() const {
  Snapshot snapshot = summary();
  stages_.Read(snapshot.links);
  return snapshot;
}

}  // namespace bfly::dataplane
