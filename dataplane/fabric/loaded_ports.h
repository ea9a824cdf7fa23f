// SPDX-License-Identifier: Apache-2.0
// The host ports and trunks of a loaded fabric. Host ports may come and go while it runs.
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

  // All arguments outlive the object.
  absl::Status Open(const FabricConfig& config, const Network& network, const RouteTable& routes,
                    const FabricPlan& plan);
  // Before Start: the keeper runs it ten times a second.
  void AddChore(std::function<void()> chore) { keeper_.AddChore(std::move(chore)); }
  // Call Start after the workers have started, and Stop after they have stopped for good.
  void Start();
  void Stop();
  // Nobody uses a port any more. Their counters can still be read.
  void Close();

  // These are for the one thread that changes the ports of the running fabric.
  // The topology's ports as they are now, and rows_elsewhere.
  const FabricConfig& present() const { return present_; }
  // Opens a port that `next` has at `index` and present() does not have. Nobody uses it yet.
  // FailedPrecondition: there are no buffers for it. Else the errors of HostPort::Open.
  absl::StatusOr<std::unique_ptr<HostPort>> Open(const FabricConfig& next, size_t index);
  // The port is one of host_ports(), and readers see its counters.
  void Insert(std::unique_ptr<HostPort> port);
  // The port receives nothing new, if its device can do that; the result says so.
  bool StopReceiving(HostPort& port);
  // The port is no longer one of host_ports(). Readers see its counters until it is closed.
  void TakeOut(const HostPort& port);
  // Closes a port that was taken out and that no worker uses any more. Its counters go to those of
  // removed ports.
  void Close(const HostPort& port);
  // Ports that were taken out and are not closed.
  bool IsClosing(const std::string& name) const;
  // Makes the list of rows that broadcasts go to anew, and offers it to all inlets. Returns the
  // list before, which they may use until their workers have answered.
  std::shared_ptr<const void> OfferFlood(std::vector<Row> rows_elsewhere);

  const std::vector<std::unique_ptr<HostPort>>& host_ports() const { return host_ports_; }
  // How many names ports have had so far.
  size_t names() const { return names_.size(); }
  // A number for the name of a port, which no other name gets while the fabric is loaded.
  uint32_t NumberOf(const HostPort& port) const;
  std::string NameOf(uint32_t number) const;
  Trunk* trunk_in() const { return trunk_in_.get(); }    // null if stage 0 runs here
  Trunk* trunk_out() const { return trunk_out_.get(); }  // null if the last stage runs here
  // Any thread. Null as long as there were no ports and trunks.
  rte_mempool* frame_pool() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pool_.get();
  }
  // Any thread: the host ports as they are now.
  std::vector<HostPortConfig> Configs() const;
  // Any thread: which rows have a port here now.
  std::vector<bool> HasPort(uint32_t rows) const;

  // Any thread. Host ports come in the config's order, then trunks.
  // `removed` gets the sum over all ports that were removed and closed.
  std::vector<PortCounters> counters(PortCounters& removed) const;
  std::vector<std::string> problems() const;
  // In the order of counters(): who uses them, as they were opened, and how their devices are now.
  std::vector<PortStatus> status() const;

 private:
  // What is known of a port or trunk from its opening on.
  struct Facts {
    PortStatus status;
    std::vector<std::string> warnings;
  };

  absl::Status MakePool(const FabricConfig& config);
  absl::Status CheckBuffers(const FabricConfig& next, const HostPortConfig& port) const;
  absl::StatusOr<std::unique_ptr<HostPort>> OpenPort(const FabricConfig& config, size_t index);
  std::vector<PortCounters> CountersNow() const;

  const Network* network_ = nullptr;
  const RouteTable* routes_ = nullptr;
  const FabricPlan* plan_ = nullptr;
  FabricConfig present_;
  FramePool pool_;
  bool pool_takes_af_xdp_ = false;
  int pool_queue_pairs_ = 0;  // for so many it has buffers
  DeviceKeeper keeper_;
  KnownHosts hosts_;                               // what the ports have learned
  std::shared_ptr<const std::vector<Row>> flood_;  // rows with a host port anywhere, ascending
  // Ports come and go, Close removes all, and a reader may look at the same time.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HostPort>> host_ports_;
  std::vector<std::unique_ptr<HostPort>> closing_;  // taken out
  std::vector<Facts> host_facts_;                   // by host port
  std::vector<Facts> trunk_facts_;
  std::vector<std::string> names_;  // by number; also of ports that were removed
  PortCounters removed_;            // of closed ports
  std::unique_ptr<Trunk> trunk_in_;
  std::unique_ptr<Trunk> trunk_out_;
  bool closed_ = false;             // mutex_
  std::vector<PortCounters> last_;  // mutex_: the counters when the ports were closed
};

}  // namespace bfly::dataplane
