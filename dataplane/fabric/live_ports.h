// SPDX-License-Identifier: Apache-2.0
// Adds host ports to a running fabric and removes them. A change affects only the rows of its port.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/fabric/assembly.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/loaded_taps.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/runtime/grace_period.h"

namespace bfly::dataplane {

// Thread-safe; changes are made one after the other.
class LivePorts {
 public:
  // All arguments outlive the object.
  LivePorts(const Network& network, const FabricPlan& plan, LoadedPorts& ports, Assembly& assembly,
            LoadedTaps& taps, const Workers& workers)
      : network_(network),
        plan_(plan),
        ports_(ports),
        assembly_(assembly),
        taps_(taps),
        workers_(workers) {}

  // Call it after the ports are open and before their keeper starts.
  void Start();
  // Waits for a change in progress. Later changes are refused. Call it before the workers stop.
  void Stop();

  // As Fabric::AddPort, RemovePort and SetRowsElsewhere.
  absl::Status Add(const HostPortConfig& port);
  absl::Status Remove(const std::string& name);
  absl::Status SetRowsElsewhere(const std::vector<Row>& rows);

 private:
  using Old = std::vector<std::shared_ptr<const void>>;
  // A port that was taken out, and the period after which no worker uses it.
  struct Leaving {
    GracePeriod period;
    const HostPort* port;
  };

  // The caller of these functions holds mutex_.
  absl::Status CheckNew(const FabricConfig& next) const;
  GracePeriod AskWorkers() const;
  // Keeps the objects that workers used before until the workers have taken up the new ones.
  GracePeriod RetireOld(Old old);
  // Lets the workers poll the frames that the port's device received before it stopped receiving.
  void Drain(const HostPort& port) const;
  GracePeriod TakeOut(HostPort& port);
  // Closes the ports that no worker uses any more.
  void CloseLeft();

  const Network& network_;
  const FabricPlan& plan_;
  LoadedPorts& ports_;
  Assembly& assembly_;
  LoadedTaps& taps_;
  const Workers& workers_;
  std::mutex mutex_;  // guards the members below, and changes of ports_
  bool over_ = false;
  std::vector<Leaving> leaving_;
  Retired retired_;
};

}  // namespace bfly::dataplane
