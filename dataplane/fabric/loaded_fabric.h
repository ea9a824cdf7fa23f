// SPDX-License-Identifier: Apache-2.0
// Fabric as it is: owns the stages, rings, ports and workers of one loaded config.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/plan.h"
#include "dataplane/fabric/ring.h"
#include "dataplane/fabric/route_table.h"
#include "dataplane/fabric/segment.h"
#include "dataplane/fabric/stage.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/traffic/source.h"

namespace bfly::dataplane {

class LoadedFabric final : public Fabric {
 public:
  // Makes one more inlet for the segment of the first hop; benchmarks bring their own traffic with
  // it.
  using InletFactory = std::function<std::unique_ptr<Inlet>(const Network&, const RouteTable&)>;

  static absl::StatusOr<std::unique_ptr<LoadedFabric>> Load(const FabricConfig& config,
                                                            const InletFactory& more_traffic);
  ~LoadedFabric() override;

  absl::Status Unload() override;
  const FabricConfig& config() const override { return config_; }
  const Network& network() const override { return network_; }
  absl::Status InstallCircuit(Row input, Tag tag) override;
  absl::Status RemoveCircuit(Row input) override;
  std::vector<Circuit> circuits() const override;
  absl::Status SetSources(const std::vector<SourceConfig>& sources) override;
  absl::Status SetLinkUp(LinkId link, bool up) override;
  Snapshot snapshot() const override;

 private:
  struct WorkerRing {
    Ring ring;
    int consumer;  // index of the worker
  };

  LoadedFabric(const FabricConfig& config, Network network);
  void BuildStages();
  void BuildSegments(const InletFactory& more_traffic);
  Ring* NewRing(int consumer);
  absl::Status StartWorkers();
  absl::Status StopWorkers();
  void DiscardInside();
  absl::Status CheckInput(Row input) const;
  Stage& stage(int s) { return *stages_[s - plan_.first_stage]; }
  void ReadAccounts(Snapshot& snapshot) const;
  void ReadLinks(Snapshot& snapshot) const;

  const FabricConfig config_;
  const Network network_;
  RouteTable routes_;
  const FabricPlan plan_;
  SourceInlet sources_;
  std::vector<std::unique_ptr<Stage>> stages_;  // first_stage..last_stage
  std::vector<std::unique_ptr<WorkerRing>> rings_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  std::vector<std::unique_ptr<Segment>> segments_;  // in plan_.segments' order
  std::vector<std::unique_ptr<Worker>> workers_;    // in plan_.lcores' order

  std::mutex control_;    // one control call at a time; no worker ever takes it
  bool running_ = false;  // guarded by control_
};

}  // namespace bfly::dataplane
