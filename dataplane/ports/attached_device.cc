// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/attached_device.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/device_keeper.h"
#include "dataplane/ports/host_behind.h"

namespace bfly::dataplane {
namespace {

// Attaching is tried again after this time. The reason for which a device refuses rarely passes
// sooner.
constexpr std::chrono::seconds kTryEvery{1};

}  // namespace

void AddXdpCounters(const XdpCounters& more, XdpCounters& sum) {
  std::map<Row, uint64_t> rows;
  for (const XdpCounters* counters : {&more, &std::as_const(sum)}) {
    for (const XdpCounters::RowCount& row : counters->rows) rows[row.row] += row.packets;
  }
  sum.rows.clear();
  for (const auto& [row, packets] : rows) sum.rows.push_back({.row = row, .packets = packets});
  if (sum.actions.empty()) sum.actions.resize(more.actions.size());
  for (size_t i = 0; i < more.actions.size(); ++i) {
    sum.actions[i].name = more.actions[i].name;
    sum.actions[i].packets += more.actions[i].packets;
  }
}

absl::StatusOr<std::unique_ptr<AttachedDevice>> AttachedDevice::Open(const EthdevConfig& config,
                                                                     DeviceKeeper* keeper) {
  std::unique_ptr<AttachedDevice> device(new AttachedDevice(config, keeper));
  if (absl::Status status = device->Attach(); !status.ok()) return status;
  device->steering_ = device->device_->steering();
  device->config_.needs_queue_rules = device->steering_ == Steering::kFlowRules;
  if (keeper != nullptr) keeper->Add(device.get());
  return device;
}

absl::Status AttachedDevice::Attach() {
  const auto at_field = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(config_.field, ": ", status.message()));
  };
  const absl::StatusOr<std::optional<MemifDevice>> memif = MemifDevice::Of(config_.device);
  if (!memif.ok()) return at_field(memif.status());
  if (memif->has_value() && keeper_ != nullptr) {
    auto relay = keeper_->RelayAt(**memif);
    if (!relay.ok()) return at_field(relay.status());
    relay_ = *std::move(relay);
    memif_id_ = (*memif)->id;
    config_.to_driver = relay_->DriversDevice(config_.device);
  }
  attached_too_early_ = keeper_ != nullptr && DevicePresence::IsDown(config_.device);
  auto device = Ethdev::Open(config_);
  if (!device.ok()) return device.status();
  presence_ = DevicePresence(config_.device, (*device)->id());
  {
    const std::lock_guard lock(mutex_);
    device_ = *std::move(device);
  }
  if (after_attaching_) after_attaching_();
  if (attached_too_early_) {
    // The workers do not get it. The keeper takes it away and attaches it again.
    Say(presence_.what() + " was down; the port is attached again when it is up");
    return absl::OkStatus();
  }
  if (relay_ != nullptr) {
    relay_->Add(memif_id_, device_->id(), &gate_);
  } else {
    gate_.Open(device_->id());
  }
  Say("");
  return absl::OkStatus();
}

void AttachedDevice::Tend() {
  if (device_ != nullptr) {
    std::string problem = presence_.problem();
    if (problem.empty() && attached_too_early_) problem = presence_.what() + " was down";
    if (!problem.empty()) return Detach(std::move(problem));
    const bool has_carrier = presence_.has_carrier();
    const std::lock_guard lock(mutex_);
    has_carrier_ = has_carrier;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (std::string missing = presence_.missing(); !missing.empty()) return Say(std::move(missing));
  if (now < next_try_) return;
  if (const absl::Status status = Attach(); !status.ok()) {
    Say(absl::StrCat(presence_.what(), " cannot be attached again: ", status.message()));
    next_try_ = now + kTryEvery;
  }
}

void AttachedDevice::Detach(std::string problem) {
  gate_.Close();
  keeper_->WaitForWorkers();
  device_->Reclaim();
  const std::lock_guard lock(mutex_);
  missed_before_ += device_->missed();
  AddXdpCounters(device_->xdp(), xdp_before_);
  problem_ = std::move(problem);
  device_.reset();
}

void AttachedDevice::Say(std::string problem) {
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

std::string AttachedDevice::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

bool AttachedDevice::link_up() const {
  const std::lock_guard lock(mutex_);
  return device_ != nullptr && has_carrier_ && device_->link_up();
}

std::string AttachedDevice::driver() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return device_ != nullptr ? device_->driver() : "";
}

uint64_t AttachedDevice::missed() const {
  const std::lock_guard lock(mutex_);
  return missed_before_ + (device_ != nullptr ? device_->missed() : 0);
}

XdpCounters AttachedDevice::xdp() const {
  const std::lock_guard lock(mutex_);
  XdpCounters sum = device_ != nullptr ? device_->xdp() : XdpCounters{};
  AddXdpCounters(xdp_before_, sum);
  return sum;
}

MacAddress AttachedDevice::HostBehind() const {
  return dataplane::HostBehind(config_.device, device_->id());
}

bool AttachedDevice::StopReceiving() { return device_ != nullptr && device_->StopReceiving(); }

void AttachedDevice::BeforeClosing() {
  gate_.Close();
  if (device_ == nullptr) return;
  // As long as the kernel fills the buffers of an AF_XDP device, no other port may get them. They
  // stay with the driver then, and are lost until the fabric is unloaded.
  if (device_->StopReceiving() || !presence_.problem().empty()) device_->Reclaim();
}

AttachedDevice::~AttachedDevice() {
  gate_.Close();
  if (keeper_ != nullptr) keeper_->Remove(this);
  if (relay_ != nullptr && device_ != nullptr) relay_->Remove(memif_id_);
  device_.reset();
}

}  // namespace bfly::dataplane
