// SPDX-License-Identifier: Apache-2.0
// A host port: the ethdev where the outside world is attached to rows. One inlet a receive queue
// and one transmitter a transmit queue; each is used by exactly one worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/core/route_table.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/frames/frame.h"
#include "dataplane/ports/attached_device.h"
#include "dataplane/ports/host_inlet.h"
#include "dataplane/ports/host_transmitter.h"
#include "dataplane/ports/known_hosts.h"

namespace bfly::dataplane {

// What all host ports of a fabric share. Everything pointed to outlives the ports.
struct HostPortContext {
  const RouteTable* routes = nullptr;
  FrameRules rules;                         // MakeFrameRules(network, addressing, max_frame_bytes)
  const std::vector<Row>* flood = nullptr;  // every row of the fabric that has a host port
  rte_mempool* pool = nullptr;              // MakeFramePool
  bool several_workers = false;             // as there
  DeviceKeeper* keeper = nullptr;           // null: nobody looks after the devices
  KnownHosts* hosts = nullptr;              // null: addresses of hosts are not kept
};

class HostPort {
 public:
  // `field` is the port's place in the config, "ports[2]"; every error starts with it.
  static absl::StatusOr<std::unique_ptr<HostPort>> Open(const std::string& field,
                                                        const HostPortConfig& config,
                                                        const HostPortContext& context);

  const HostPortConfig& config() const { return config_; }
  int queue_pairs() const { return config_.queue_pairs; }
  // Both live as long as the port.
  HostInlet& inlet(int queue) { return *inlets_[queue]; }
  HostTransmitter& transmitter(int queue) { return *transmitters_[queue]; }

  PortCounters counters() const;
  std::string problem() const { return device_->problem(); }

 private:
  HostPort() = default;
  void FindHost(KnownHosts* hosts);

  HostPortConfig config_;
  std::unique_ptr<AttachedDevice> device_;
  LearnedMac learned_;
  std::vector<std::unique_ptr<HostInlet>> inlets_;
  std::vector<std::unique_ptr<HostTransmitter>> transmitters_;
};

}  // namespace bfly::dataplane
