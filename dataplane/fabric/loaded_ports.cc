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
    const auto add = [&](int stage) {
      for (int worker : plan.PollersOf(port, stage)) device.lcores.push_back(lcore(worker));
    };
    if (plan.has_first_hop()) add(0);
    if (sends_to_hosts) add(plan.last_stage);
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

// Sets of rules that each bring the frames of a port to the workers of their rows; none if the row
// says nothing about the queue pair.
std::vector<QueueRules> RulesOfPort(const HostPortConfig& port, const FabricPlan& plan) {
  if (!plan.has_first_hop()) return {};
  const std::vector<int> queues = plan.QueuesOfRows(port, 0);
  std::vector<QueueOfRow> rows;
  for (size_t i = 0; i < queues.size(); ++i) {
    if (queues[i] < 0) continue;
    rows.push_back({.row = port.rows[i], .queue = static_cast<uint16_t>(queues[i])});
  }
  if (rows.empty()) return {};
  std::sort(rows.begin(), rows.end(),
            [](const QueueOfRow& a, const QueueOfRow& b) { return a.row < b.row; });
  return {RulesByRowBits(rows), RulesByRow(rows)};
}

PortStatus StatusOf(const HostPort& port, const FabricPlan& plan) {
  const bool receives = plan.has_first_hop();
  const std::vector<int> pollers = plan.PollersOf(port.config(), receives ? 0 : plan.last_stage);
  PortStatus status{.name = port.config().name,
                    .queue_pairs = port.config().queue_pairs,
                    .lcores = {},
                    .steering = Steering::kNone,
                    .rows_handed_over = 0};
  for (int worker : pollers) {
    const int lcore = plan.lcores[static_cast<size_t>(worker)];
    if (std::find(status.lcores.begin(), status.lcores.end(), lcore) == status.lcores.end()) {
      status.lcores.push_back(lcore);
    }
  }
  if (!receives) return status;
  const std::vector<Row>& rows = port.config().rows;
  const bool needs_all = std::all_of(rows.begin(), rows.end(),
                                     [&](Row row) { return plan.worker_of(0, row) == pollers[0]; });
  if (status.lcores.size() > 1 || !needs_all) status.steering = port.steering();
  if (status.steering == Steering::kFlowRules) {
    const std::vector<int> queues = plan.QueuesOfRows(port.config(), 0);
    status.rows_handed_over = static_cast<int>(std::count(queues.begin(), queues.end(), -1));
  }
  return status;
}

PortStatus StatusOf(const Trunk& trunk, const FabricPlan& plan) {
  PortStatus status{.name = trunk.config().name,
                    .queue_pairs = trunk.config().queue_pairs,
                    .lcores = {},
                    .steering = trunk.steering(),
                    .rows_handed_over = 0};
  const auto add = [&](const auto& ways) {
    for (const auto& way : ways) {
      status.lcores.push_back(plan.lcores[static_cast<size_t>(way.worker)]);
    }
  };
  add(trunk.ways_in());
  add(trunk.ways_out());
  int others = 0;  // rows whose frames come to other workers
  for (const Trunk::WayIn& way : trunk.ways_in()) {
    const auto of_other = [&](Row row) {
      return plan.worker_of(plan.first_stage, row) != way.worker;
    };
    others += static_cast<int>(std::count_if(way.rows.begin(), way.rows.end(), of_other));
  }
  if (status.steering == Steering::kFlowRules || status.steering == Steering::kSender) {
    status.rows_handed_over = others;
  } else if (others > 0) {
    status.steering = Steering::kSoftware;
  }
  return status;
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
  std::vector<PolledDevice> devices = PolledDevices(config, network, plan, sends_to_hosts);
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
    auto port = HostPort::Open(absl::StrCat("ports[", i, "]"), config.ports[i], context,
                               RulesOfPort(config.ports[i], plan));
    if (!port.ok()) return port.status();
    host_ports_.push_back(*std::move(port));
  }
  for (size_t i = 0; i < config.trunks.size(); ++i) {
    auto trunk = Trunk::Open(absl::StrCat("trunks[", i, "]"), config.trunks[i], network,
                             config.max_frame_bytes, pool_.get(), &keeper_,
                             WorkersAt(config.trunks[i], plan));
    if (!trunk.ok()) return trunk.status();
    // Which workers receive from it depends on the flow rules that the device took.
    devices[config.ports.size() + i].lcores = StatusOf(**trunk, plan).lcores;
    (config.trunks[i].sends ? trunk_out_ : trunk_in_) = *std::move(trunk);
  }
  node_warnings_ = NodeWarnings(devices);
  for (const auto& port : host_ports_) status_.push_back(StatusOf(*port, plan));
  for (const auto* trunk : {&trunk_in_, &trunk_out_}) {
    if (*trunk) status_.push_back(StatusOf(**trunk, plan));
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

std::vector<PortStatus> LoadedPorts::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<PortStatus> status = status_;
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
