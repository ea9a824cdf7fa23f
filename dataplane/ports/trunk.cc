// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trunk.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {
namespace {

// The part of a trunk that one worker sends or receives.
struct Share {
  int worker = 0;
  std::vector<uint16_t> queues;
  std::vector<Row> rows;
};

// The first share has queue pair 0. If workers cannot use queue pairs `apart`, one worker has all.
std::vector<Share> SharesOf(const TrunkRules& rules, bool apart, const WorkerOfRow& worker_of) {
  const std::vector<int> workers = WorkersOfTrunkQueues(rules, worker_of);
  std::vector<Share> shares;
  for (int queue = 0; queue < rules.queues; ++queue) {
    const std::vector<Row> rows = TrunkRowsOf(queue, rules);
    const int worker = workers[apart ? static_cast<size_t>(queue) : 0];
    auto share = std::find_if(shares.begin(), shares.end(),
                              [worker](const Share& s) { return s.worker == worker; });
    if (share == shares.end()) {
      share = shares.insert(shares.end(), {.worker = worker, .queues = {}, .rows = {}});
    }
    share->queues.push_back(static_cast<uint16_t>(queue));
    share->rows.insert(share->rows.end(), rows.begin(), rows.end());
  }
  return shares;
}

}  // namespace

std::vector<int> WorkersOfTrunkQueues(const TrunkRules& rules, const WorkerOfRow& worker_of) {
  std::vector<int> workers;
  for (int queue = 0; queue < rules.queues; ++queue) {
    const std::vector<Row> rows = TrunkRowsOf(queue, rules);
    workers.push_back(worker_of(rows.empty() ? 0 : rows[0]));
  }
  return workers;
}

absl::StatusOr<std::unique_ptr<Trunk>> Trunk::Open(const std::string& field,
                                                   const TrunkConfig& config,
                                                   const Network& network, uint32_t max_frame_bytes,
                                                   rte_mempool* pool, DeviceKeeper* keeper,
                                                   const WorkerOfRow& worker_of) {
  const TrunkRules rules =
      MakeTrunkRules(network, config.after_stage, config.queue_pairs, max_frame_bytes);
  const std::vector<int> workers = WorkersOfTrunkQueues(rules, worker_of);
  const bool steered = !config.sends && std::adjacent_find(workers.begin(), workers.end(),
                                                           std::not_equal_to<>()) != workers.end();
  std::vector<QueueRules> queue_rules;
  if (steered && !KeepsQueues(config.device)) queue_rules = {RulesOfTrunk(config.queue_pairs)};
  auto device = AttachedDevice::Open(
      {.field = field + ".device",
       .device = config.device,
       .queue_pairs = config.queue_pairs,
       .max_frame_bytes = max_frame_bytes + kTrunkOverhead,
       .pool = pool,
       .edge = {.frames = MakeFrameRules(network, {}, max_frame_bytes + kTrunkOverhead),
                .trunk = true},
       .queue_rules = std::move(queue_rules)},
      keeper);
  if (!device.ok()) return device.status();
  std::unique_ptr<Trunk> trunk(new Trunk);
  trunk->config_ = config;
  trunk->device_ = *std::move(device);
  const DeviceGate* const gate = trunk->device_->gate();
  trunk->wire_ = std::make_unique<TrunkWire>(gate, config.queue_pairs, pool);
  if (config.sends) {
    for (Share& share : SharesOf(rules, true, worker_of)) {
      trunk->ways_out_.push_back({.worker = share.worker,
                                  .rows = std::move(share.rows),
                                  .outlet = std::make_unique<TrunkOutlet>(gate, rules, pool)});
    }
  } else {
    const bool by_rules = trunk->device_->steering() == Steering::kFlowRules;
    const bool keeps_queues = KeepsQueues(config.device) || by_rules;
    if (steered) {
      trunk->steering_ = by_rules       ? Steering::kFlowRules
                         : keeps_queues ? Steering::kSender
                                        : Steering::kSoftware;
    }
    for (Share& share : SharesOf(rules, keeps_queues, worker_of)) {
      auto inlet = std::make_unique<TrunkInlet>(gate, rules, pool, std::move(share.queues),
                                                keeps_queues, config.joins);
      trunk->ways_in_.push_back(
          {.worker = share.worker, .rows = std::move(share.rows), .inlet = std::move(inlet)});
    }
  }
  return trunk;
}

PortCounters Trunk::counters() const {
  PortCounters c;
  c.name = config_.name;
  c.driver = device_->driver();
  for (const WayOut& way : ways_out_) {
    c.tx_packets += way.outlet->counters().packets.load(std::memory_order_relaxed);
    c.tx_bytes += way.outlet->counters().bytes.load(std::memory_order_relaxed);
    way.outlet->counters().AddDropsTo(c.drops);
  }
  for (const WayIn& way : ways_in_) {
    c.rx_packets += way.inlet->counters().packets.load(std::memory_order_relaxed);
    c.rx_bytes += way.inlet->counters().bytes.load(std::memory_order_relaxed);
    way.inlet->counters().AddDropsTo(c.drops);
  }
  const PortQueueCounters& sent = wire_->sent();
  const PortQueueCounters& received = wire_->received();
  c.tx_packets += sent.packets.load(std::memory_order_relaxed);
  c.tx_bytes += sent.bytes.load(std::memory_order_relaxed);
  c.rx_packets += received.packets.load(std::memory_order_relaxed);
  c.rx_bytes += received.bytes.load(std::memory_order_relaxed);
  received.AddDropsTo(c.drops);
  c.rx_missed = device_->missed();
  c.xdp = device_->xdp();
  return c;
}

}  // namespace bfly::dataplane
