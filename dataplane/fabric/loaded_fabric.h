// SPDX-License-Identifier: Apache-2.0
// Fabric as it is: owns the stages, rings, ports and workers of one loaded config.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dataplane/core/ring.h"
#include "dataplane/core/route_table.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/in_band/workers/loaded_in_band.h"
#include "dataplane/ports/device_keeper.h"
#include "dataplane/ports/egress.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/host_port.h"
#include "dataplane/ports/trunk.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/segment.h"
#include "dataplane/stages/stage.h"
#include "dataplane/traffic/source_inlet.h"

namespace bfly::dataplane {

class LoadedFabric final : public Fabric {
 public:
  // Makes one more inlet for the segment of the first hop; benchmarks bring their own traffic with
  // it.
  using InletFactory = std::function<std::unique_ptr<Inlet>(const Network&, const RouteTable&)>;

  // `hosts_file` keeps the addresses of hosts over a crash; empty: they are learned anew.
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
  absl::Status SetLinks(const LinkPlan& plan) override;
  absl::StatusOr<InBand*> in_band() override;
  std::vector<std::string> problems() const override;
  Snapshot snapshot() const override;
  Snapshot summary() const override;

  // CPU time of all workers so far, for benchmarks.
  double CpuSeconds() const {
    double sum = 0;
    for (const auto& worker : workers_) sum += worker->CpuSeconds();
    return sum;
  }

  // The buffers of all frames; null without ports. For tests, which count what is in use.
  const rte_mempool* frame_pool() const { return pool_.get(); }

 private:
  struct WorkerRing {
    Ring ring;
    int consumer;  // index of the worker
  };
  struct OwnedSegment {
    std::unique_ptr<Segment> segment;
    int worker;
  };

  LoadedFabric(const FabricConfig& config, Network network, const std::string& hosts_file);
  void BuildStages();
  absl::Status OpenPorts();
  // Which worker uses queue `queue` of a port, if `worker` is the one to do it by default.
  int PollerOf(const HostPortConfig& port, int queue, int by_default) const;
  // The order matters: a worker runs its segments in the order they were added.
  void BuildReceivers();
  void BuildHops();
  void BuildTransmitters();
  void AddSources(const InletFactory& more_traffic);
  Segment* NewSegment(int worker, std::vector<Stage*> hops);
  // From a segment to one of worker `consumer`.
  Inlet* Connect(Segment* from, Stage* last, int consumer);
  // Builds what the plan needs and asks the workers of stages that change to take it up.
  void OfferShapes(const LinkPlan& plan);
  TimedLinks* TimedLinksOf(int stage_number);
  int WorkerOfStage(int stage_number) const;
  absl::Status StartWorkers();
  absl::Status StopWorkers();
  void DiscardInside();
  void ClosePorts();
  absl::Status CheckInput(Row input) const;
  void NoteCircuit(Row input);
  absl::Status MakeInBand();
  Stage& stage(int s) { return *stages_[s - plan_.first_stage]; }
  void ReadAccounts(Snapshot& snapshot) const;
  void ReadLinks(Snapshot& snapshot) const;
  std::vector<PortCounters> ReadPorts() const;
  std::vector<PortCounters> PortCountersNow() const;
  // Returns when every worker has begun and ended a pass since, or has stopped.
  void WaitForWorkers() const;

  const FabricConfig config_;
  const Network network_;
  RouteTable routes_;
  const FabricPlan plan_;
  SourceInlet sources_;
  std::vector<std::unique_ptr<Stage>> stages_;  // first_stage..last_stage
  // Of stages_: what their links are like by the latest plan, and packets on them where they ever
  // took time.
  std::vector<std::shared_ptr<const ShapeTable>> shapes_;
  std::vector<std::unique_ptr<TimedLinks>> timed_;
  std::vector<std::unique_ptr<PacketStore>> stores_;  // by worker, null where no link took time
  FramePool pool_;                                    // null without ports
  DeviceKeeper keeper_{[this] { WaitForWorkers(); }};
  KnownHosts hosts_;        // what the ports learned
  std::vector<Row> flood_;  // rows with a host port anywhere
  std::vector<std::unique_ptr<HostPort>> ports_;
  std::unique_ptr<Trunk> trunk_in_;   // null where stage 0 runs here
  std::unique_ptr<Trunk> trunk_out_;  // null where the last stage runs here
  std::vector<std::unique_ptr<WorkerRing>> rings_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  std::vector<std::unique_ptr<Egress>> egresses_;  // by worker, null where nothing leaves
  std::vector<OwnedSegment> segments_;
  // Empty: nothing is recorded. Workers use what their egress and timed links point to.
  struct RecordedLatency {
    std::vector<std::unique_ptr<DeliveryLatency>> deliveries;  // of workers that deliver
    std::vector<std::unique_ptr<LatencyHistogram>> stages;     // of stages_
  };
  LatencyReport ReportOf(const RecordedLatency& latency) const;
  RecordedLatency latency_;                       // control_
  GracePeriod shapes_taken_up_;                   // control_
  Retired retired_;                               // control_: shapes, sources and latencies
  std::vector<Segment*> hop_segments_;            // in plan_.segments' order
  std::vector<Inlet*> arrivals_;                  // what receiving workers send to the first hop
  std::vector<std::unique_ptr<Worker>> workers_;  // in plan_.lcores' order

  FaultSet faults_{network_};                    // control_
  std::unique_ptr<LoadedInBand> in_band_owner_;  // made when first asked for
  std::atomic<LoadedInBand*> in_band_{nullptr};  // the same, for callers without control_

  mutable std::mutex control_;  // one control call at a time; no worker ever takes it
  bool running_ = false;        // guarded by control_
  // Unload closes ports and trunks while a reader may look.
  mutable std::mutex ports_mutex_;
  bool closed_ = false;  // guarded by ports_mutex_
  std::vector<PortCounters>
      last_ports_;  // guarded by ports_mutex_: what they said when they closed
};

}  // namespace bfly::dataplane
