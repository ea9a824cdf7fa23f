// SPDX-License-Identifier: Apache-2.0
// A device as a port or trunk has it: workers reach it through a gate, so that it can be taken away
// from them when its driver or the other side goes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/ports/device_gate.h"
#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/mac_address.h"
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
  uint64_t missed() const { return device_->missed(); }
  XdpCounters xdp() const { return device_->xdp(); }
  // Of the host behind it, 0: nobody can tell (host_behind.h).
  MacAddress HostBehind() const;

  // Keeper.
  void Tend() {}

 private:
  AttachedDevice(const EthdevConfig& config, DeviceKeeper* keeper)
      : config_(config), keeper_(keeper) {}
  absl::Status Attach();

  EthdevConfig config_;
  DeviceKeeper* const keeper_;
  DeviceGate gate_;
  std::unique_ptr<Ethdev> device_;
  uint32_t memif_id_ = 0;
  std::shared_ptr<MemifRelay> relay_;  // of a memif, null for other devices
};

}  // namespace bfly::dataplane
