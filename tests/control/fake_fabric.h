// SPDX-License-Identifier: Apache-2.0
// A fabric without workers. It remembers the calls that it gets and shows the figures that a test
// sets. The real agent, real gRPC and the real controller stand between it and the test.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "control/agent/fabric_host.h"
#include "dataplane/fabric/fabric.h"

namespace bfly::control {

// The state that a test and its fake fabrics share. It outlives the fabrics. Thread-safe.
struct FakeBoard {
  std::mutex mutex;
  std::vector<std::string> log;                        // "load dp0", "install 3", "remove 3", ...
  std::map<std::string, dataplane::Snapshot> figures;  // by data plane; absent: zeros
  std::set<Row> refused_inputs;                        // InstallCircuit fails there
  std::set<std::string> refused_planes;                // loading fails there
  std::set<uint64_t> refused_links;                    // SetLinkUp fails for these indexes
  std::set<int> missing_lcores;                        // Verify complains about them
  dataplane::WorkerPasses worker_passes;               // of every fabric
  std::vector<dataplane::PortStatus> ports;            // of every fabric; empty: its own
  std::set<std::string> refused_devices;               // AddPort fails with them
  std::condition_variable gate_changed;
  bool gate_closed = false;  // changes of circuits, links and sources wait until it is open
  bool gates_loads = false;  // loads wait, too
  int at_gate = 0;           // changes that wait
  dataplane::StepPrograms* step_programs = nullptr;  // null: the fabrics have no workers
  dataplane::Schedules* schedules = nullptr;         // null: none runs stage 0
  dataplane::InBand* in_band = nullptr;              // null: the fabrics have no workers
  std::atomic<bool> late_worker = false;             // takes sources and links up after 2 s
  std::atomic<int> unloads = 0, link_changes = 0;    // of all fabrics

  void CloseGate() {
    const std::lock_guard lock(mutex);
    gate_closed = true;
  }
  void OpenGate() {
    const std::lock_guard lock(mutex);
    gate_closed = false;
    gate_changed.notify_all();
  }
  bool SomethingWaits() {
    const std::lock_guard lock(mutex);
    return at_gate != 0;
  }
  bool GatesLoads() {
    const std::lock_guard lock(mutex);
    return gates_loads;
  }
  // At most two minutes.
  void PassGate() {
    std::unique_lock lock(mutex);
    ++at_gate;
    gate_changed.wait_for(lock, std::chrono::minutes(2), [this] { return !gate_closed; });
    --at_gate;
  }
  void RefuseInputs(std::set<Row> inputs) {
    const std::lock_guard lock(mutex);
    refused_inputs = std::move(inputs);
  }
  void Note(std::string what) {
    const std::lock_guard lock(mutex);
    log.push_back(std::move(what));
  }
  std::vector<std::string> TakeLog() {
    const std::lock_guard lock(mutex);
    return std::exchange(log, {});
  }
};

class FakeFabric final : public dataplane::Fabric {
 public:
  FakeFabric(FakeBoard& board, std::string plane, dataplane::FabricConfig config)
      : board_(board),
        plane_(std::move(plane)),
        config_(std::move(config)),
        network_(*Network::Make(config_.network)),
        ports_(config_.ports) {
    board_.Note("load " + plane_);
    for (const uint64_t index : config_.down_links) {
      board_.Note("link " + std::to_string(index) + " down");
    }
    AvoidLinks(config_.avoided_links);
  }

  absl::Status Unload() override {
    if (!std::exchange(unloaded_, true)) board_.Note("unload " + plane_);
    ++board_.unloads;
    return absl::OkStatus();
  }
  const dataplane::FabricConfig& config() const override { return config_; }
  const Network& network() const override { return network_; }

  absl::StatusOr<dataplane::InBand*> in_band() override {
    if (board_.in_band != nullptr) return board_.in_band;
    return absl::FailedPreconditionError("in_band: a fake fabric has no workers");
  }
  absl::StatusOr<dataplane::StepPrograms*> step_programs() override {
    if (board_.step_programs != nullptr) return board_.step_programs;
    return absl::FailedPreconditionError("step_programs: a fake fabric has no workers");
  }
  dataplane::Schedules* schedules() override { return board_.schedules; }

  absl::Status InstallCircuit(Row input, Tag tag) override {
    board_.PassGate();
    const std::lock_guard lock(board_.mutex);
    if (board_.refused_inputs.count(input) != 0) return absl::InternalError("no room at the input");
    board_.log.push_back("install " + std::to_string(input));
    circuits_[input] = tag;
    return absl::OkStatus();
  }
  absl::Status RemoveCircuit(Row input) override {
    board_.PassGate();
    board_.Note("remove " + std::to_string(input));
    circuits_.erase(input);
    return absl::OkStatus();
  }
  std::vector<Circuit> circuits() const override {
    std::vector<Circuit> held;
    for (const auto& [input, tag] : circuits_) held.push_back({input, tag});
    return held;
  }
  absl::Status SetSources(const std::vector<dataplane::SourceConfig>& sources) override {
    board_.PassGate();
    const absl::Status status = CheckSources(sources, network_, stages().first);
    if (!status.ok()) return status;
    board_.Note("sources " + std::to_string(sources.size()));
    source_ids_.clear();
    for (const auto& source : sources) source_ids_.push_back(source.id);
    return TakenUp();
  }
  std::vector<dataplane::SourceCounters> sources() const override {
    std::vector<dataplane::SourceCounters> counters;
    for (uint64_t id : source_ids_) counters.push_back({.id = id, .packets = 10 * id});
    return counters;
  }
  absl::StatusOr<dataplane::LatencyReport> RecordLatency(bool on) override {
    board_.Note(std::string("latency ") + (on ? "on" : "off"));
    return dataplane::LatencyReport{.recording = std::exchange(recording_, on)};
  }
  dataplane::LatencyReport latency() const override { return {.recording = recording_}; }
  void EndPasses() const override {}
  absl::Status SetLinkUp(LinkId link, bool up) override {
    board_.PassGate();
    ++board_.link_changes;
    const std::lock_guard lock(board_.mutex);
    const uint64_t index = network_.link_index(link);
    if (board_.refused_links.count(index) != 0) return absl::InternalError("no hand on the link");
    board_.log.push_back("link " + std::to_string(index) + (up ? " up" : " down"));
    return absl::OkStatus();
  }
  void AvoidLinks(const std::vector<uint64_t>& links) override {
    if (!links.empty()) board_.Note("avoid " + std::to_string(links.size()));
  }
  absl::Status SetLinks(const dataplane::LinkPlan& plan) override {
    board_.PassGate();
    board_.Note("links " + std::to_string(plan.rules.size()));
    return TakenUp();
  }
  absl::Status AddPort(const dataplane::HostPortConfig& port) override {
    board_.PassGate();
    const std::lock_guard lock(board_.mutex);
    if (board_.refused_devices.count(port.device) != 0) {
      return absl::UnavailableError("ports[" + std::to_string(ports_.size()) +
                                    "].device: cannot open \"" + port.device + "\"");
    }
    board_.log.push_back("add " + port.name + " to " + plane_);
    ports_.push_back(port);
    return absl::OkStatus();
  }
  absl::Status RemovePort(const std::string& name) override {
    const std::lock_guard lock(board_.mutex);
    board_.log.push_back("remove " + name + " from " + plane_);
    std::erase_if(ports_, [&](const auto& port) { return port.name == name; });
    return absl::OkStatus();
  }
  absl::Status SetRowsElsewhere(const std::vector<Row>& rows) override {
    board_.Note("elsewhere of " + plane_ + " " + std::to_string(rows.size()));
    return absl::OkStatus();
  }
  std::vector<dataplane::HostPortConfig> host_ports() const override {
    const std::lock_guard lock(board_.mutex);
    return ports_;
  }
  std::vector<dataplane::PortStatus> port_status() const override {
    {
      const std::lock_guard lock(board_.mutex);
      if (!board_.ports.empty()) return board_.ports;
    }
    std::vector<dataplane::PortStatus> status;
    for (const auto& port : host_ports()) status.push_back({.name = port.name, .lcores = {0}});
    return status;
  }
  dataplane::Snapshot snapshot() const override {
    dataplane::Snapshot all = Figures();
    all.links.resize(static_cast<size_t>(all.last_stage - all.first_stage + 1) * network_.rows() *
                     network_.ports());
    return all;
  }
  dataplane::Snapshot summary() const override {
    dataplane::Snapshot all = Figures();
    all.links.clear();
    return all;
  }
  dataplane::WorkerPasses worker_passes() const override {
    const std::lock_guard lock(board_.mutex);
    return board_.worker_passes;
  }
  std::pair<int, int> stages() const override {
    return {config_.placement.front().first_stage, config_.placement.back().last_stage};
  }
  void ReadLinkFigures(dataplane::LinkFigure figure, uint64_t first,
                       std::span<uint64_t> values) const override {
    for (uint64_t i = 0; i < values.size(); ++i) {
      values[i] = dataplane::FigureOf(ReadLink(first + i), figure);
    }
  }
  dataplane::LinkCounters ReadLink(uint64_t index) const override {
    const std::lock_guard lock(board_.mutex);
    const auto given = board_.figures.find(plane_);
    if (given == board_.figures.end()) return {};
    const uint64_t first = network_.link_index({.stage = stages().first});
    const auto& links = given->second.links;
    return index - first < links.size() ? links[index - first] : dataplane::LinkCounters();
  }

 private:
  absl::Status TakenUp() const {
    if (!board_.late_worker) return absl::OkStatus();
    return absl::DeadlineExceededError("a worker made no pass within 2 s");
  }
  dataplane::Snapshot Figures() const {
    const std::lock_guard lock(board_.mutex);
    board_.log.push_back("read " + plane_);
    const auto given = board_.figures.find(plane_);
    dataplane::Snapshot figures;
    if (given != board_.figures.end()) figures = given->second;
    std::tie(figures.first_stage, figures.last_stage) = stages();
    return figures;
  }

  FakeBoard& board_;
  const std::string plane_;
  const dataplane::FabricConfig config_;
  const Network network_;
  std::map<Row, Tag> circuits_;
  std::vector<dataplane::HostPortConfig> ports_;  // board_.mutex
  bool unloaded_ = false;
  std::vector<uint64_t> source_ids_;
  bool recording_ = false;
};

inline FabricBackend FakeBackend(FakeBoard& board, const std::string& plane) {
  FabricBackend backend;
  backend.verify = [&board](const dataplane::FabricConfig& config) {
    const std::lock_guard lock(board.mutex);
    std::vector<absl::Status> errors;
    for (size_t i = 0; i < config.placement.size(); ++i) {
      if (board.missing_lcores.count(config.placement[i].lcore) == 0) continue;
      errors.push_back(absl::InvalidArgumentError("placement[" + std::to_string(i) + "].lcore: " +
                                                  std::to_string(config.placement[i].lcore) +
                                                  " is not a CPU of this machine"));
    }
    return errors;
  };
  backend.load = [&board, plane](const dataplane::FabricConfig& config)
      -> absl::StatusOr<std::unique_ptr<dataplane::Fabric>> {
    {
      const std::lock_guard lock(board.mutex);
      if (board.refused_planes.count(plane) != 0) return absl::InternalError("device is busy");
    }
    if (board.GatesLoads()) board.PassGate();
    return std::make_unique<FakeFabric>(board, plane, config);
  };
  return backend;
}

}  // namespace bfly::control
