// SPDX-License-Identifier: Apache-2.0
// Adds host ports to a running fabric and removes them. Only the rows of the port notice.
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
  // More names of ports than this are not used over the life of a fabric.
  static constexpr size_t kMostNames = 65536;

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
  // Waits for a change in progress. Later ones are refused. Call it before the workers stop.
  void Stop();

  // As Fabric::AddPort and so on.
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

  // These need mutex_.
  absl::Status CheckNew(const FabricConfig& next) const;
  GracePeriod AskWorkers() const;
  // Keeps what workers used before until they have taken up what is new.
  GracePeriod RetireOld(Old old);
  // Lets the workers poll what the port's device received before it stopped receiving.
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
  std::mutex mutex_;  // guards what follows, and changes of ports_
  bool over_ = false;
  std::vector<Leaving> leaving_;
  Retired retired_;
};

}  // namespace bfly::dataplane
