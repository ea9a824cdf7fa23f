// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trunk.h"

#include <algorithm>
#include <utility>

#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {
namespace {

// What one worker receives of a trunk.
struct Share {
  int worker = 0;
  std::vector<uint16_t> queues;
  std::vector<Row> rows;
};

std::vector<Share> SharesOf(const TrunkRules& rules, bool keeps_queues,
                            const WorkerOfRow& worker_of) {
  std::vector<Share> shares = {{.worker = worker_of(0), .queues = {}, .rows = {}}};
  for (int queue = 0; queue < rules.queues; ++queue) {
    const std::vector<Row> rows = TrunkRowsOf(queue, rules);
    const int worker = keeps_queues && !rows.empty() ? worker_of(rows[0]) : shares[0].worker;
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

absl::StatusOr<std::unique_ptr<Trunk>> Trunk::Open(const std::string& field,
                                                   const TrunkConfig& config,
                                                   const Network& network, uint32_t max_frame_bytes,
                                                   rte_mempool* pool, DeviceKeeper* keeper,
                                                   const WorkerOfRow& worker_of) {
  const TrunkRules rules =
      MakeTrunkRules(network, config.after_stage, config.queue_pairs, max_frame_bytes);
  auto device = AttachedDevice::Open(
      {.field = field + ".device",
       .device = config.device,
       .queue_pairs = config.queue_pairs,
       .max_frame_bytes = max_frame_bytes + kTrunkOverhead,
       .pool = pool,
       .edge = {.frames = MakeFrameRules(network, {}, max_frame_bytes + kTrunkOverhead),
                .trunk = true}},
      keeper);
  if (!device.ok()) return device.status();
  std::unique_ptr<Trunk> trunk(new Trunk);
  trunk->config_ = config;
  trunk->device_ = *std::move(device);
  const DeviceGate* const gate = trunk->device_->gate();
  trunk->wire_ = std::make_unique<TrunkWire>(gate, config.queue_pairs, pool);
  if (config.sends) {
    trunk->outlet_ = std::make_unique<TrunkOutlet>(gate, rules, pool);
  } else {
    const bool keeps_queues = KeepsQueues(config.device);
    for (Share& share : SharesOf(rules, keeps_queues, worker_of)) {
      auto inlet =
          std::make_unique<TrunkInlet>(gate, rules, pool, std::move(share.queues), keeps_queues);
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
  if (outlet_ != nullptr) {
    c.tx_packets = outlet_->counters().packets.load(std::memory_order_relaxed);
    c.tx_bytes = outlet_->counters().bytes.load(std::memory_order_relaxed);
    outlet_->counters().AddDropsTo(c.drops);
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
