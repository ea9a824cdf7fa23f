// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_ports.h"

#include <rte_mempool.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/fabric/port_facts.h"
#include "dataplane/ports/device_node.h"

namespace bfly::dataplane {
namespace {

std::string PoolName() {
  static std::atomic<int> pools{0};
  return absl::StrCat("bfly_frames_", pools.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

absl::Status LoadedPorts::Open(const FabricConfig& config, const Network& network,
                               const RouteTable& routes, const FabricPlan& plan) {
  network_ = &network;
  routes_ = &routes;
  plan_ = &plan;
  present_ = config;
  flood_ = FloodRows(config);
  if (config.ports.empty() && config.trunks.empty()) return absl::OkStatus();
  if (absl::Status status = MakePool(config); !status.ok()) return status;
  for (size_t i = 0; i < config.ports.size(); ++i) {
    auto port = OpenPort(config, i);
    if (!port.ok()) return port.status();
    host_facts_.push_back(
        {.status = StatusOf(**port, plan),
         .warnings = NodeWarnings({PolledBy(config.ports[i], plan, SendsToHosts(config))})});
    host_ports_.push_back(*std::move(port));
    names_.Add(config.ports[i].name);
  }
  for (size_t i = 0; i < config.trunks.size(); ++i) {
    auto trunk = Trunk::Open(absl::StrCat("trunks[", i, "]"), config.trunks[i], network,
                             config.max_frame_bytes, pool_.get(), &keeper_,
                             WorkersAt(config.trunks[i], plan));
    if (!trunk.ok()) return trunk.status();
    (config.trunks[i].sends ? trunk_out_ : trunk_in_) = *std::move(trunk);
  }
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk == nullptr) continue;
    PolledDevice device = PolledBy((*trunk)->config(), config, network, plan);
    // Which workers receive from it depends on the flow rules that the device took.
    const PortStatus status = StatusOf(**trunk, plan);
    device.lcores = status.lcores;
    trunk_facts_.push_back({.status = status, .warnings = NodeWarnings({device})});
  }
  return absl::OkStatus();
}

// Buffers for ports that come later are optional: if the memory is too small for them, the fabric
// loads without these buffers.
absl::Status LoadedPorts::MakePool(const FabricConfig& config) {
  std::vector<int> pollers;
  const auto add = [&pollers](const PolledDevice& device) {
    pollers.insert(pollers.end(), device.lcores.begin(), device.lcores.end());
  };
  for (const HostPortConfig& port : config.ports) add(PolledBy(port, *plan_, SendsToHosts(config)));
  for (const TrunkConfig& trunk : config.trunks) add(PolledBy(trunk, config, *network_, *plan_));
  const size_t workers = plan_->lcores.size();
  const int node = NodeOfMost(pollers);
  absl::StatusOr<FramePool> pool = MakeFramePool(PoolName(), config, workers, node);
  if (!pool.ok() && config.spare_queue_pairs > 0) {
    FabricConfig without_spare = config;
    without_spare.spare_queue_pairs = 0;
    pool = MakeFramePool(PoolName(), without_spare, workers, node);
  }
  if (!pool.ok()) return pool.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  pool_ = *std::move(pool);
  pool_takes_af_xdp_ = HasAfXdp(config);
  pool_queue_pairs_ = std::max(QueuePairsFor(pool_->size, workers), QueuePairsOf(config));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HostPort>> LoadedPorts::OpenPort(const FabricConfig& config,
                                                                size_t index) {
  return HostPort::Open(
      absl::StrCat("ports[", index, "]"), config.ports[index],
      {.routes = routes_,
       .rules = MakeFrameRules(*network_, config.addressing, config.max_frame_bytes),
       .flood = flood_.get(),
       .pool = pool_.get(),
       .several_workers = plan_->lcores.size() > 1,
       .keeper = &keeper_,
       .hosts = &hosts_},
      RulesOfPort(config.ports[index], *plan_));
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
  closing_.clear();
  trunk_in_.reset();
  trunk_out_.reset();
  pool_.reset();
}

std::vector<PortCounters> LoadedPorts::CountersNow() const {
  std::vector<PortCounters> ports;
  for (const auto& port : host_ports_) ports.push_back(port->counters());
  for (const auto& port : closing_) ports.push_back(port->counters());
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) ports.push_back((*trunk)->counters());
  }
  return ports;
}

std::vector<PortCounters> LoadedPorts::counters(PortCounters& removed) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  removed = removed_;
  return closed_ ? last_ : CountersNow();
}

std::vector<PortStatus> LoadedPorts::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<PortStatus> status;
  for (const auto* facts : {&host_facts_, &trunk_facts_}) {
    for (const Facts& of_one : *facts) status.push_back(of_one.status);
  }
  if (closed_) return status;
  size_t at = 0;
  const auto look = [&](const auto& port) {
    status[at].link_up = port->link_up();
    status[at++].problem = port->problem();
  };
  for (const auto& port : host_ports_) look(port);
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) look(*trunk);
  }
  return status;
}

std::vector<std::string> LoadedPorts::problems() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> problems;
  for (const auto* facts : {&host_facts_, &trunk_facts_}) {
    for (const Facts& of_one : *facts) {
      problems.insert(problems.end(), of_one.warnings.begin(), of_one.warnings.end());
    }
  }
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
