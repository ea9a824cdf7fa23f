// SPDX-License-Identifier: Apache-2.0
// The host ports and trunks of a loaded fabric.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "dataplane/core/port_status.h"
#include "dataplane/core/route_table.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/ports/device_keeper.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/host_port.h"
#include "dataplane/ports/known_hosts.h"
#include "dataplane/ports/queue_rule.h"
#include "dataplane/ports/trunk.h"
#include "dataplane/stages/plan.h"

namespace bfly::dataplane {

class LoadedPorts {
 public:
  // `hosts_file` keeps the addresses of hosts over a crash; if it is empty, they are learned anew.
  // `wait_for_workers` is as DeviceKeeper wants it.
  LoadedPorts(const std::string& hosts_file, std::function<void()> wait_for_workers)
      : keeper_(std::move(wait_for_workers)), hosts_(hosts_file) {}

  absl::Status Open(const FabricConfig& config, const Network& network, const RouteTable& routes,
                    const FabricPlan& plan);
  // Call Start after the workers have started, and Stop after they have stopped for good.
  void Start();
  void Stop();
  // Nobody uses a port any more. Their counters can still be read.
  void Close();

  const std::vector<std::unique_ptr<HostPort>>& host_ports() const { return host_ports_; }
  Trunk* trunk_in() const { return trunk_in_.get(); }      // null if stage 0 runs here
  Trunk* trunk_out() const { return trunk_out_.get(); }    // null if the last stage runs here
  rte_mempool* frame_pool() const { return pool_.get(); }  // null without ports

  // Any thread. Host ports come in the config's order, then trunks.
  std::vector<PortCounters> counters() const;
  std::vector<std::string> problems() const;
  // In the order of counters(): who uses them, as they were opened, and how their devices are now.
  std::vector<PortStatus> status() const;

 private:
  std::vector<PortCounters> CountersNow() const;

  FramePool pool_;
  DeviceKeeper keeper_;
  KnownHosts hosts_;        // what the ports have learned
  std::vector<Row> flood_;  // rows with a host port anywhere
  std::vector<std::string> node_warnings_;
  std::vector<PortStatus> status_;
  // Close removes the ports and trunks, and a reader may look at the same time.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HostPort>> host_ports_;
  std::unique_ptr<Trunk> trunk_in_;
  std::unique_ptr<Trunk> trunk_out_;
  bool closed_ = false;             // mutex_
  std::vector<PortCounters> last_;  // mutex_: the counters when the ports were closed
};

}  // namespace bfly::dataplane
