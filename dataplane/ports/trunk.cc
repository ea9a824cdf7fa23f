// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trunk.h"

#include "dataplane/frames/frame.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {

absl::StatusOr<std::unique_ptr<Trunk>> Trunk::Open(const std::string& field,
                                                   const TrunkConfig& config,
                                                   const Network& network, uint32_t max_frame_bytes,
                                                   rte_mempool* pool, DeviceKeeper* keeper) {
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
    trunk->inlet_ = std::make_unique<TrunkInlet>(gate, rules, pool);
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
  } else {
    c.rx_packets = inlet_->counters().packets.load(std::memory_order_relaxed);
    c.rx_bytes = inlet_->counters().bytes.load(std::memory_order_relaxed);
    inlet_->counters().AddDropsTo(c.drops);
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
