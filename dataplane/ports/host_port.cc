// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/host_port.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataplane/ports/host_behind.h"

namespace bfly::dataplane {
namespace {

absl::Status CheckRows(const std::string& field, const HostPortConfig& config, uint32_t rows) {
  if (config.rows.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".rows: none given; attach at least one"));
  }
  for (Row row : config.rows) {
    if (row < rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".rows: ", row, " is outside 0..", rows - 1));
  }
  if (config.queue_pairs < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".queue_pairs: ", config.queue_pairs, " is less than 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostPort>> HostPort::Open(
    const std::string& field, const HostPortConfig& config, const HostPortContext& context,
    const std::vector<QueueRules>& queue_rules) {
  if (absl::Status status = CheckRows(field, config, context.rules.rows); !status.ok())
    return status;
  std::unique_ptr<HostPort> port(new HostPort);
  port->config_ = config;
  port->hosts_ = context.hosts;
  auto device = AttachedDevice::Open({.field = field + ".device",
                                      .device = config.device,
                                      .queue_pairs = config.queue_pairs,
                                      .max_frame_bytes = context.rules.max_frame_bytes,
                                      .pool = context.pool,
                                      .edge = {.frames = context.rules},
                                      .queue_rules = queue_rules},
                                     context.keeper);
  if (!device.ok()) return device.status();
  port->device_ = std::move(*device);

  const bool translate =
      config.translate_mac && config.rows.size() == 1 && context.rules.mode == AddressingMode::kMac;
  LearnedMac* learned = translate ? &port->learned_ : nullptr;
  if (translate) port->FindHost(context.hosts);
  const bool kernel_interface = absl::StartsWith(config.device, "net_af_xdp") ||
                                absl::StartsWith(config.device, "net_af_packet");
  const DeviceGate* const gate = port->device_->gate();
  for (uint16_t queue = 0; queue < config.queue_pairs; ++queue) {
    port->inlets_.push_back(
        std::make_unique<HostInlet>(HostInletConfig{.gate = gate,
                                                    .queue = queue,
                                                    .rules = context.rules,
                                                    .routes = context.routes,
                                                    .rows = config.rows,
                                                    .flood = context.flood,
                                                    .pool = context.pool,
                                                    .kernel_interface = kernel_interface,
                                                    .learned = learned,
                                                    .several_workers = context.several_workers}));
    port->transmitters_.push_back(std::make_unique<HostTransmitter>(gate, queue, learned));
  }
  return port;
}

// A kernel drops frames that are neither for its own address nor broadcasts, so frames are sent as
// broadcasts until the host is known. What the kernel says about the interface now is newer than
// the kept address.
void HostPort::FindHost(KnownHosts* hosts) {
  if (LeadsToAKernel(config_.device)) learned_.until_known = kBroadcastMac;
  if (hosts != nullptr) hosts->Watch(config_.name, config_.rows[0], &learned_);
  learned_.Learn(device_->HostBehind());
  // An interface that was created again may have another host behind it.
  device_->AfterAttaching(
      [this] { learned_.host.store(device_->HostBehind(), std::memory_order_relaxed); });
}

void HostPort::Retire() {
  device_->BeforeClosing();
  if (hosts_ != nullptr) hosts_->Unwatch(&learned_);
}

PortCounters HostPort::counters() const {
  PortCounters sum;
  sum.name = config_.name;
  sum.driver = device_->driver();
  for (const auto& inlet : inlets_) {
    sum.queues.emplace_back().rx_packets =
        inlet->counters().packets.load(std::memory_order_relaxed);
    sum.rx_packets += sum.queues.back().rx_packets;
    sum.rx_bytes += inlet->counters().bytes.load(std::memory_order_relaxed);
    inlet->counters().AddDropsTo(sum.drops);
  }
  for (size_t i = 0; i < transmitters_.size(); ++i) {
    const auto& transmitter = transmitters_[i];
    sum.queues[i].tx_packets = transmitter->counters().packets.load(std::memory_order_relaxed);
    sum.tx_packets += sum.queues[i].tx_packets;
    sum.tx_bytes += transmitter->counters().bytes.load(std::memory_order_relaxed);
    transmitter->counters().AddDropsTo(sum.drops);
  }
  sum.rx_missed = device_->missed();
  sum.xdp = device_->xdp();
  return sum;
}

}  // namespace bfly::dataplane
