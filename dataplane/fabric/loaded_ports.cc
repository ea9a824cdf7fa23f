// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_ports.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "dataplane/frames/trunk_frame.h"
#include "dataplane/ports/device_node.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {
namespace {

std::string PoolName() {
  static std::atomic<int> pools{0};
  return absl::StrCat("bfly_frames_", pools.fetch_add(1, std::memory_order_relaxed));
}

WorkerOfRow WorkersAt(const TrunkConfig& trunk, const FabricPlan& plan) {
  const int stage = trunk.sends ? plan.last_stage : plan.first_stage;
  return [&plan, stage](Row row) { return plan.worker_of(stage, row); };
}

// The ports, then the trunks, in the order of the config.
std::vector<PolledDevice> PolledDevices(const FabricConfig& config, const Network& network,
                                        const FabricPlan& plan, bool sends_to_hosts) {
  std::vector<PolledDevice> devices;
  const auto lcore = [&plan](int worker) { return plan.lcores[static_cast<size_t>(worker)]; };
  for (const HostPortConfig& port : config.ports) {
    PolledDevice& device = devices.emplace_back();
    device.what = absl::StrCat("port ", port.name);
    device.device = port.device;
    for (int q = 0; q < port.queue_pairs; ++q) {
      if (plan.has_first_hop()) device.lcores.push_back(lcore(plan.poller_of(port, q, 0)));
      if (sends_to_hosts) {
        device.lcores.push_back(lcore(plan.poller_of(port, q, plan.last_stage)));
      }
    }
  }
  for (const TrunkConfig& trunk : config.trunks) {
    PolledDevice& device = devices.emplace_back();
    device.what = absl::StrCat("trunk ", trunk.name);
    device.device = trunk.device;
    std::vector<int> workers = WorkersOfTrunkQueues(
        MakeTrunkRules(network, trunk.after_stage, trunk.queue_pairs, config.max_frame_bytes),
        WorkersAt(trunk, plan));
    if (!trunk.sends && !KeepsQueues(trunk.device)) workers.resize(1);
    for (int worker : workers) device.lcores.push_back(lcore(worker));
  }
  return devices;
}

}  // namespace

absl::Status LoadedPorts::Open(const FabricConfig& config, const Network& network,
                               const RouteTable& routes, const FabricPlan& plan) {
  const bool several_workers = plan.lcores.size() > 1;
  flood_ = config.rows_elsewhere;
  for (const HostPortConfig& port : config.ports) {
    flood_.insert(flood_.end(), port.rows.begin(), port.rows.end());
  }
  if (config.ports.empty() && config.trunks.empty()) return absl::OkStatus();
  const auto sends = [](const TrunkConfig& trunk) { return trunk.sends; };
  const bool sends_to_hosts = std::none_of(config.trunks.begin(), config.trunks.end(), sends);
  const std::vector<PolledDevice> devices = PolledDevices(config, network, plan, sends_to_hosts);
  node_warnings_ = NodeWarnings(devices);
  std::vector<int> pollers;
  for (const PolledDevice& device : devices) {
    pollers.insert(pollers.end(), device.lcores.begin(), device.lcores.end());
  }
  absl::StatusOr<FramePool> pool =
      MakeFramePool(PoolName(), config, several_workers, NodeOfMost(pollers));
  if (!pool.ok()) return pool.status();
  pool_ = *std::move(pool);
  const HostPortContext context = {
      .routes = &routes,
      .rules = MakeFrameRules(network, config.addressing, config.max_frame_bytes),
      .flood = &flood_,
      .pool = pool_.get(),
      .several_workers = several_workers,
      .keeper = &keeper_,
      .hosts = &hosts_};
  for (size_t i = 0; i < config.ports.size(); ++i) {
    auto port = HostPort::Open(absl::StrCat("ports[", i, "]"), config.ports[i], context);
    if (!port.ok()) return port.status();
    host_ports_.push_back(*std::move(port));
  }
  for (size_t i = 0; i < config.trunks.size(); ++i) {
    auto trunk = Trunk::Open(absl::StrCat("trunks[", i, "]"), config.trunks[i], network,
                             config.max_frame_bytes, pool_.get(), &keeper_,
                             WorkersAt(config.trunks[i], plan));
    if (!trunk.ok()) return trunk.status();
    (config.trunks[i].sends ? trunk_out_ : trunk_in_) = *std::move(trunk);
  }
  return absl::OkStatus();
}

void LoadedPorts::Start() {
  keeper_.AddChore([this] { hosts_.Save(); });
  keeper_.Start();
}

void LoadedPorts::Stop() {
  keeper_.Stop();
  hosts_.Forget();
}

void LoadedPorts::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = CountersNow();
  closed_ = true;
  host_ports_.clear();
  trunk_in_.reset();
  trunk_out_.reset();
  pool_.reset();
}

std::vector<PortCounters> LoadedPorts::CountersNow() const {
  std::vector<PortCounters> ports;
  for (const auto& port : host_ports_) ports.push_back(port->counters());
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) ports.push_back((*trunk)->counters());
  }
  return ports;
}

std::vector<PortCounters> LoadedPorts::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_ ? last_ : CountersNow();
}

std::vector<std::string> LoadedPorts::problems() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> problems = node_warnings_;
  const auto add = [&](absl::string_view kind, const std::string& name,
                       const std::string& problem) {
    if (!problem.empty()) problems.push_back(absl::StrCat(kind, " ", name, ": ", problem));
  };
  for (const auto& port : host_ports_) add("port", port->config().name, port->problem());
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) add("trunk", (*trunk)->config().name, (*trunk)->problem());
  }
  return problems;
}

}  // namespace bfly::dataplane
