// SPDX-License-Identifier: Apache-2.0
// A host port: the ethdev that attaches the outside world to rows. Each receive queue has an inlet
// and each transmit queue a transmitter; each of these is used by exactly one worker.
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

// The data that all host ports of a fabric share. All pointers must outlive the ports.
struct HostPortContext {
  const RouteTable* routes = nullptr;
  FrameRules rules;                         // MakeFrameRules(network, addressing, max_frame_bytes)
  const std::vector<Row>* flood = nullptr;  // all rows of the fabric that have a host port
  rte_mempool* pool = nullptr;              // MakeFramePool
  bool several_workers = false;             // one may return a buffer that another one took
  DeviceKeeper* keeper = nullptr;           // null: the devices are not tended
  KnownHosts* hosts = nullptr;              // null: addresses of hosts are not kept in a file
};

class HostPort {
 public:
  // `field` is the port's place in the config, "ports[2]"; every error starts with it. The device
  // gets the first of the sets of `queue_rules` that it takes, if any.
  static absl::StatusOr<std::unique_ptr<HostPort>> Open(
      const std::string& field, const HostPortConfig& config, const HostPortContext& context,
      const std::vector<QueueRules>& queue_rules = {});

  // Keeper (device_keeper.h): the port is removed while the fabric goes on. First it receives
  // nothing new, where its device can do that (the result says so). When no worker uses the port
  // any more, Retire makes it ready to be destroyed.
  bool StopReceiving() { return device_->StopReceiving(); }
  void Retire();

  const HostPortConfig& config() const { return config_; }
  int queue_pairs() const { return config_.queue_pairs; }
  // The inlets and transmitters live as long as the port.
  HostInlet& inlet(int queue) { return *inlets_[queue]; }
  HostTransmitter& transmitter(int queue) { return *transmitters_[queue]; }

  PortCounters counters() const;
  std::string problem() const { return device_->problem(); }
  bool link_up() const { return device_->link_up(); }
  // kFlowRules, kRss or kSoftware.
  Steering steering() const { return device_->steering(); }

 private:
  HostPort() = default;
  void FindHost(KnownHosts* hosts);

  HostPortConfig config_;
  std::unique_ptr<AttachedDevice> device_;
  KnownHosts* hosts_ = nullptr;
  LearnedMac learned_;
  std::vector<std::unique_ptr<HostInlet>> inlets_;
  std::vector<std::unique_ptr<HostTransmitter>> transmitters_;
};

}  // namespace bfly::dataplane
