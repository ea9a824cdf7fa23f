// SPDX-License-Identifier: Apache-2.0
// The concrete Fabric. It owns the stages, rings, ports and workers of one loaded config.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataplane/core/route_table.h"
#include "dataplane/fabric/assembly.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/live_ports.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/loaded_schedules.h"
#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/fabric/loaded_taps.h"
#include "dataplane/fabric/read_accounts.h"
#include "dataplane/fabric/recorded_latency.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/in_band/loaded_in_band.h"
#include "dataplane/stages/plan.h"
#include "dataplane/step_workers/loaded_step_programs.h"
#include "dataplane/traffic/sources.h"

namespace bfly::dataplane {

class LoadedFabric final : public Fabric {
 public:
  // Makes one more inlet for a segment of the first hop. Its packets begin at `rows`. Benchmarks
  // use it to bring their own traffic.
  using InletFactory =
      std::function<std::unique_ptr<Inlet>(const Network&, const RouteTable&, RowRange rows)>;

  // `hosts_file` keeps the addresses of hosts over a crash; if it is empty, they are learned anew.
  static absl::StatusOr<std::unique_ptr<LoadedFabric>> Load(const FabricConfig& config,
                                                            const InletFactory& more_traffic,
                                                            const std::string& hosts_file = "");
  ~LoadedFabric() override;

  absl::Status Unload() override;
  const FabricConfig& config() const override { return config_; }
  const Network& network() const override { return network_; }
  absl::Status InstallCircuit(Row input, Tag tag) override;
  absl::Status RemoveCircuit(Row input) override;
  std::vector<Circuit> circuits() const override;
  absl::Status SetSources(const std::vector<SourceConfig>& sources) override;
  std::vector<SourceCounters> sources() const override;
  absl::StatusOr<LatencyReport> RecordLatency(bool on) override;
  LatencyReport latency() const override;
  absl::Status SetLinkUp(LinkId link, bool up) override;
  void EndPasses() const override;
  void AvoidLinks(const std::vector<uint64_t>& links) override;
  absl::Status SetLinks(const LinkPlan& plan) override;
  absl::StatusOr<InBand*> in_band() override;
  absl::StatusOr<StepPrograms*> step_programs() override;
  Schedules* schedules() override { return plan_.has_first_hop() ? &schedules_ : nullptr; }
  Taps* taps() override { return &taps_; }
  absl::Status AddPort(const HostPortConfig& port) override;
  absl::Status RemovePort(const std::string& name) override;
  absl::Status SetRowsElsewhere(const std::vector<Row>& rows) override {
    return live_ports_.SetRowsElsewhere(rows);
  }
  std::vector<HostPortConfig> host_ports() const override { return ports_.Configs(); }
  std::string PortName(uint32_t number) const override { return ports_.NameOf(number); }
  std::vector<PortStatus> port_status() const override { return ports_.status(); }
  WorkerPasses worker_passes() const override { return PassesOf(workers_); }
  std::vector<std::string> problems() const override { return ports_.problems(); }
  Snapshot snapshot() const override;
  Snapshot summary() const override;
  std::pair<int, int> stages() const override { return {plan_.first_stage, plan_.last_stage}; }
  void ReadLinkFigures(LinkFigure figure, uint64_t first,
                       std::span<uint64_t> values) const override {
    stages_.ReadFigures(figure, first, values);
  }
  LinkCounters ReadLink(uint64_t index) const override { return stages_.ReadLink(index); }

  // The CPU time of all workers so far, for benchmarks.
  double CpuSeconds() const { return CpuSecondsOf(workers_); }

  // The buffers of all frames, or null without ports. Tests count the buffers in use.
  const rte_mempool* frame_pool() const { return ports_.frame_pool(); }

 private:
  LoadedFabric(const FabricConfig& config, Network network, const std::string& hosts_file);
  absl::Status Assemble(const InletFactory& more_traffic);
  absl::Status StartWorkers();
  absl::Status StopWorkers();
  void AddGates();
  void NoteCircuit(Row input);
  absl::Status MakeInBand();
  void MakeStepPrograms();
  // Tells step programs that ports came or went.
  void TellPrograms();
  void DiscardSteps();
  // Returns when every worker has begun and ended a pass since the call, or has stopped.
  void WaitForWorkers() const;

  const FabricConfig config_;
  const Network network_;
  RouteTable routes_;
  const FabricPlan plan_;
  Sources sources_;
  const Workers workers_;
  LoadedSchedules schedules_{network_, routes_, workers_};
  LoadedStages stages_{config_, network_, plan_, workers_};
  LoadedPorts ports_;
  Assembly assembly_{network_, plan_, stages_, ports_, workers_};
  LoadedTaps taps_{network_, plan_, stages_, ports_, assembly_, workers_};
  LivePorts live_ports_{network_, plan_, ports_, assembly_, taps_, workers_};
  RecordedLatency latency_;      // control_
  GracePeriod shapes_taken_up_;  // control_
  Retired retired_;  // control_: shapes, sources and latencies that workers may still use

  FaultSet faults_;                              // control_
  std::unique_ptr<LoadedInBand> in_band_owner_;  // made when first asked for
  std::atomic<LoadedInBand*> in_band_{nullptr};  // in_band_owner_, for callers without control_
  std::unique_ptr<LoadedStepPrograms> step_programs_;  // control_; made when first asked for

  mutable std::mutex control_;  // one control call at a time; no worker ever takes it
  bool running_ = false;        // guarded by control_
};

}  // namespace bfly::dataplane
