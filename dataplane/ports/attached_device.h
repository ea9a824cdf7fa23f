// SPDX-License-Identifier: Apache-2.0
// A device as a port or trunk has it: workers reach it through a gate, so that it can be taken away
// from them when its driver or the other side goes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "dataplane/frames/mac_address.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/device_presence.h"
#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/memif_relay.h"

namespace bfly::dataplane {

class DeviceKeeper;

class AttachedDevice {
 public:
  // The errors of Ethdev::Open. `keeper` outlives the device; null: nobody looks after it, and
  // memif peers talk to the driver themselves.
  static absl::StatusOr<std::unique_ptr<AttachedDevice>> Open(const EthdevConfig& config,
                                                              DeviceKeeper* keeper);
  // Workers have stopped.
  ~AttachedDevice();

  const DeviceGate* gate() const { return &gate_; }
  // Any thread. Sums over all attachments.
  uint64_t missed() const;
  XdpCounters xdp() const;
  // What is wrong with it: "interface bf0 is gone; ..."; empty: nothing.
  std::string problem() const;

  // Of the host behind it, 0: nobody can tell (host_behind.h).
  MacAddress HostBehind() const;

  // What to do after the device was attached again. Set before the keeper starts.
  void AfterAttaching(std::function<void()> chore) { after_attaching_ = std::move(chore); }

  // Keeper: takes a device away from the workers whose interface is gone, and attaches one by the
  // same name when it is there again.
  void Tend();

 private:
  AttachedDevice(const EthdevConfig& config, DeviceKeeper* keeper)
      : config_(config), keeper_(keeper) {}
  absl::Status Attach();
  void Detach();
  void Say(std::string problem);

  EthdevConfig config_;
  DeviceKeeper* const keeper_;
  DeviceGate gate_;
  mutable std::mutex mutex_;
  std::unique_ptr<Ethdev> device_;  // mutex_, for all but the keeper; null: its interface is gone
  std::string problem_;             // mutex_
  uint64_t missed_before_ = 0;      // mutex_; counted by earlier attachments
  XdpCounters xdp_before_;          // mutex_; likewise
  // The keeper's, once its thread runs.
  DevicePresence presence_;
  std::chrono::steady_clock::time_point next_try_;
  std::function<void()> after_attaching_;
  uint32_t memif_id_ = 0;
  std::shared_ptr<MemifRelay> relay_;  // of a memif, null for other devices
};

}  // namespace bfly::dataplane
