// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/attached_device.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/device_keeper.h"
#include "dataplane/ports/host_behind.h"

namespace bfly::dataplane {

absl::StatusOr<std::unique_ptr<AttachedDevice>> AttachedDevice::Open(const EthdevConfig& config,
                                                                     DeviceKeeper* keeper) {
  std::unique_ptr<AttachedDevice> device(new AttachedDevice(config, keeper));
  if (absl::Status status = device->Attach(); !status.ok()) return status;
  if (keeper != nullptr) keeper->Add(device.get());
  return device;
}

absl::Status AttachedDevice::Attach() {
  const std::optional<MemifDevice> memif = MemifDevice::Of(config_.device);
  if (memif.has_value() && keeper_ != nullptr) {
    auto relay = keeper_->RelayAt(*memif);
    if (!relay.ok()) {
      return absl::Status(relay.status().code(),
                          absl::StrCat(config_.field, ": ", relay.status().message()));
    }
    relay_ = *std::move(relay);
    memif_id_ = memif->id;
    config_.to_driver = relay_->DriversDevice(config_.device);
  }
  auto device = Ethdev::Open(config_);
  if (!device.ok()) return device.status();
  device_ = *std::move(device);
  if (relay_ != nullptr) {
    relay_->Add(memif_id_, device_->id(), &gate_);
  } else {
    gate_.Open(device_->id());
  }
  return absl::OkStatus();
}

MacAddress AttachedDevice::HostBehind() const {
  return dataplane::HostBehind(config_.device, device_->id());
}

AttachedDevice::~AttachedDevice() {
  gate_.Close();
  if (keeper_ != nullptr) keeper_->Remove(this);
  if (relay_ != nullptr && device_ != nullptr) relay_->Remove(memif_id_);
  device_.reset();
}

}  // namespace bfly::dataplane
