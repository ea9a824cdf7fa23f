// SPDX-License-Identifier: Apache-2.0
// The device of a port or trunk. Workers reach it through a gate, so that it can be taken away from
// them when its driver or its other side goes away.
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

// Adds the counters `more` to `sum`. The rows of both are in ascending order.
void AddXdpCounters(const XdpCounters& more, XdpCounters& sum);

class AttachedDevice {
 public:
  // Returns the errors of Ethdev::Open. `keeper` must outlive the device. If it is null, the device
  // is not tended, and memif peers talk to the driver directly.
  static absl::StatusOr<std::unique_ptr<AttachedDevice>> Open(const EthdevConfig& config,
                                                              DeviceKeeper* keeper);
  // No worker may use the device any more.
  ~AttachedDevice();

  const DeviceGate* gate() const { return &gate_; }
  // Any thread. The sum over all attachments of the device.
  uint64_t missed() const;
  // DPDK's name of its driver; empty while the device is not attached.
  std::string driver() const;
  XdpCounters xdp() const;
  // How the device steers frames since it was first attached. A device that took flow rules is
  // attached again only if it takes them again.
  Steering steering() const { return steering_; }
  // What is wrong with the device, such as "interface bf0 is gone; ...". Empty: the device is
  // usable.
  std::string problem() const;
  // Whether the device has a link to its other side. Any thread.
  bool link_up() const;

  // The address of the host behind the device; 0: unknown (host_behind.h).
  MacAddress HostBehind() const;

  // The chore that runs when the device was attached again, before workers use it. Set it before
  // the keeper tends the device.
  void AfterAttaching(std::function<void()> chore) { after_attaching_ = std::move(chore); }

  // Keeper: makes the device receive no new frames, if its driver can do that while workers poll
  // it. Frames that it has received can still be polled. Returns whether the driver can do that.
  bool StopReceiving();
  // Keeper: makes the device ready to be closed while the fabric goes on: gives back the buffers
  // that its driver would keep.
  void BeforeClosing();

  // Keeper: takes the device away from the workers if its interface cannot be used, and attaches it
  // again when an interface of the same name can be used.
  void Tend();

 private:
  AttachedDevice(const EthdevConfig& config, DeviceKeeper* keeper)
      : config_(config), keeper_(keeper) {}
  absl::Status Attach();
  void Detach(std::string problem);
  void Say(std::string problem);

  EthdevConfig config_;
  DeviceKeeper* const keeper_;
  DeviceGate gate_;
  Steering steering_ = Steering::kSoftware;  // only Open writes it
  mutable std::mutex mutex_;
  std::unique_ptr<Ethdev> device_;  // guarded by mutex_, except in the keeper; null: not attached
  std::string problem_;             // guarded by mutex_
  // Guarded by mutex_; whether the kernel says that its interface has a link.
  bool has_carrier_ = true;
  uint64_t missed_before_ = 0;  // guarded by mutex_; frames missed by earlier attachments
  XdpCounters xdp_before_;      // guarded by mutex_; counters of earlier attachments
  // While the keeper's thread runs, only that thread uses the members below.
  DevicePresence presence_;
  bool attached_too_early_ = false;  // the device was attached while its interface was down
  std::chrono::steady_clock::time_point next_try_;
  std::function<void()> after_attaching_;
  uint32_t memif_id_ = 0;
  std::shared_ptr<MemifRelay> relay_;  // only for memif
};

}  // namespace bfly::dataplane
