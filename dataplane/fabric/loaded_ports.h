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
#include "dataplane/fabric/port_names.h"
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
  // `wait_for_workers`: see DeviceKeeper.
  LoadedPorts(const std::string& hosts_file, std::function<void()> wait_for_workers)
      : keeper_(std::move(wait_for_workers)), hosts_(hosts_file) {}

  // All arguments outlive the object.
  absl::Status Open(const FabricConfig& config, const Network& network, const RouteTable& routes,
                    const FabricPlan& plan);
  // Adds a chore that the keeper runs ten times a second. Call it before Start.
  void AddChore(std::function<void()> chore) { keeper_.AddChore(std::move(chore)); }
  // Call Start after the workers have started, and Stop after they have stopped for good.
  void Start();
  void Stop();
  // Closes all ports, when no worker uses a port any more. Their counters can still be read.
  void Close();

  // Only the one thread that changes the ports of the running fabric calls the functions below. The
  // config with the present ports and the present rows_elsewhere.
  const FabricConfig& present() const { return present_; }
  // Opens a port that `next` has at `index` and present() does not have. No worker uses it yet.
  // FailedPrecondition: there are no buffers for it. Other errors are those of HostPort::Open.
  absl::StatusOr<std::unique_ptr<HostPort>> Open(const FabricConfig& next, size_t index);
  // Makes the port one of host_ports(). Readers see its counters from then on.
  void Insert(std::unique_ptr<HostPort> port);
  // Makes the port receive no new frames, if its device can do that. Returns whether the device
  // can.
  bool StopReceiving(HostPort& port);
  // Takes the port out of host_ports(). Readers see its counters until it is closed.
  void TakeOut(const HostPort& port);
  // Closes a port that was taken out and that no worker uses any more. Its counts are added to
  // those of removed ports.
  void Close(const HostPort& port);
  // Whether a port of this name was taken out and is not closed yet.
  bool IsClosing(const std::string& name) const;
  // Makes a new list of the rows to which broadcasts go, and offers it to all inlets. Returns the
  // previous list, which the inlets may use until their workers have answered.
  std::shared_ptr<const void> OfferFlood(std::vector<Row> rows_elsewhere);

  const std::vector<std::unique_ptr<HostPort>>& host_ports() const { return host_ports_; }
  // Whether a port may get this name (port_names.h).
  bool MayBeNamed(const std::string& name) const { return names_.MayBeUsed(name); }
  // A number for the name of a port, which no other name gets while the fabric is loaded.
  uint32_t NumberOf(const HostPort& port) const;
  std::string NameOf(uint32_t number) const;
  Trunk* trunk_in() const { return trunk_in_.get(); }    // null if stage 0 runs here
  Trunk* trunk_out() const { return trunk_out_.get(); }  // null if the last stage runs here
  // Any thread. Null until there is a port or trunk: if the first port does not open, its buffers
  // go again.
  rte_mempool* frame_pool() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool used = !names_.empty() || trunk_in_ != nullptr || trunk_out_ != nullptr;
    return used ? pool_.get() : nullptr;
  }
  // Any thread: the host ports as they are now.
  std::vector<HostPortConfig> Configs() const;
  // Any thread: which rows have a port here now.
  std::vector<bool> HasPort(uint32_t rows) const;

  // Any thread. Host ports come in the config's order, then trunks.
  // `removed` gets the sum over all ports that were removed and closed.
  std::vector<PortCounters> counters(PortCounters& removed) const;
  std::vector<std::string> problems() const;
  // For each port and trunk, in the order of counters(): which workers use it, as it was opened,
  // and the present state of its device.
  std::vector<PortStatus> status() const;

 private:
  // The facts about a port or trunk that are known from its opening on.
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
  int pool_queue_pairs_ = 0;  // the number of queue pairs for which pool_ has buffers
  DeviceKeeper keeper_;
  KnownHosts hosts_;                               // the addresses that the ports have learned
  std::shared_ptr<const std::vector<Row>> flood_;  // rows with a host port anywhere, ascending
  // Guards the members below: ports come and go, Close removes all of them, and a reader may read
  // at the same time.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HostPort>> host_ports_;
  std::vector<std::unique_ptr<HostPort>> closing_;  // ports that were taken out and are not closed
  std::vector<Facts> host_facts_;                   // one for each host port
  std::vector<Facts> trunk_facts_;
  PortNames names_;       // also the names of removed ports
  PortCounters removed_;  // the counts of closed ports
  std::unique_ptr<Trunk> trunk_in_;
  std::unique_ptr<Trunk> trunk_out_;
  bool closed_ = false;             // mutex_
  std::vector<PortCounters> last_;  // mutex_: the counters when the ports were closed
};

}  // namespace bfly::dataplane
