// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/port_facts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/frames/trunk_frame.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {

WorkerOfRow WorkersAt(const TrunkConfig& trunk, const FabricPlan& plan) {
  const int stage = trunk.sends ? plan.last_stage : plan.first_stage;
  return [&plan, stage](Row row) { return plan.worker_of(stage, row); };
}

bool SendsToHosts(const FabricConfig& config) {
  const auto sends = [](const TrunkConfig& trunk) { return trunk.sends; };
  return std::none_of(config.trunks.begin(), config.trunks.end(), sends);
}

PolledDevice PolledBy(const HostPortConfig& port, const FabricPlan& plan, bool sends_to_hosts) {
  PolledDevice device{
      .what = absl::StrCat("port ", port.name), .device = port.device, .lcores = {}};
  const auto add = [&](int stage) {
    for (int worker : plan.PollersOf(port, stage)) {
      device.lcores.push_back(plan.lcores[static_cast<size_t>(worker)]);
    }
  };
  if (plan.has_first_hop()) add(0);
  if (sends_to_hosts) add(plan.last_stage);
  return device;
}

PolledDevice PolledBy(const TrunkConfig& trunk, const FabricConfig& config, const Network& network,
                      const FabricPlan& plan) {
  PolledDevice device{
      .what = absl::StrCat("trunk ", trunk.name), .device = trunk.device, .lcores = {}};
  std::vector<int> workers = WorkersOfTrunkQueues(
      MakeTrunkRules(network, trunk.after_stage, trunk.queue_pairs, config.max_frame_bytes),
      WorkersAt(trunk, plan));
  if (!trunk.sends && !KeepsQueues(trunk.device)) workers.resize(1);
  for (int worker : workers) device.lcores.push_back(plan.lcores[static_cast<size_t>(worker)]);
  return device;
}

std::shared_ptr<const std::vector<Row>> FloodRows(const FabricConfig& config) {
  std::vector<Row> rows = config.rows_elsewhere;
  for (const HostPortConfig& port : config.ports) {
    rows.insert(rows.end(), port.rows.begin(), port.rows.end());
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return std::make_shared<const std::vector<Row>>(std::move(rows));
}

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

}  // namespace bfly::dataplane
