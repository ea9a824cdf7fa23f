// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/live_ports.h"

#include <algorithm>
#include <chrono>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "dataplane/fabric/port_ways.h"
#include "dataplane/fabric/verify_port.h"

namespace bfly::dataplane {
namespace {

using std::chrono::steady_clock;

// Each look takes a pass of every worker. A device that has stopped receiving has no frames left
// after a few passes.
constexpr int kDrainLooks = 64;

uint64_t Received(const HostPort& port) { return port.counters().rx_packets; }

absl::Status Unloaded() { return absl::FailedPreconditionError("the fabric is unloaded"); }

absl::Status AtPort(size_t index, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("ports[", index, "].", status.message()));
}

}  // namespace

void LivePorts::Start() {
  ports_.AddChore([this] {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock.owns_lock() && !over_) CloseLeft();
  });
}

void LivePorts::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  over_ = true;
}

absl::Status LivePorts::CheckNew(const FabricConfig& next) const {
  const size_t index = next.ports.size() - 1;
  if (absl::Status status = VerifyPort(next, network_, index); !status.ok()) return status;
  const std::string& name = next.ports[index].name;
  if (ports_.IsClosing(name)) {
    return AtPort(index, absl::FailedPreconditionError(absl::StrCat(
                             "name: the port \"", name,
                             "\" that was removed is not closed yet, because a worker makes no "
                             "pass; try again")));
  }
  if (ports_.MayBeNamed(name)) return absl::OkStatus();
  return AtPort(index,
                absl::ResourceExhaustedError(absl::StrCat(
                    "name: ", PortNames::kMost,
                    " names of ports were used since the fabric was loaded; load it again")));
}

GracePeriod LivePorts::AskWorkers() const {
  GracePeriod period;
  for (const auto& worker : workers_) period.Ask(worker->epoch());
  return period;
}

GracePeriod LivePorts::RetireOld(Old old) {
  const GracePeriod period = AskWorkers();
  for (auto& one : old) retired_.Add(period, std::move(one));
  return period;
}

absl::Status LivePorts::Add(const HostPortConfig& port) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return Unloaded();
  CloseLeft();
  FabricConfig next = ports_.present();
  next.ports.push_back(port);
  const size_t index = next.ports.size() - 1;
  if (absl::Status status = CheckNew(next); !status.ok()) return status;
  const absl::StatusOr<PortWays> ways = FindPortWays(port, plan_, network_, assembly_);
  if (!ways.ok()) return AtPort(index, ways.status());
  absl::StatusOr<std::unique_ptr<HostPort>> opened = ports_.Open(next, index);
  if (!opened.ok()) return opened.status();
  HostPort& added = **opened;
  taps_.ChangePorts([&] { ports_.Insert(*std::move(opened)); });
  Old old = Join(added, *ways, assembly_);
  old.push_back(ports_.OfferFlood(next.rows_elsewhere));
  const bool taken_up = RetireOld(std::move(old)).Wait(steady_clock::now() + kTakeUpTime);
  retired_.Collect();
  if (taken_up) return absl::OkStatus();
  leaving_.push_back({TakeOut(added), &added});
  return NotTakenUp("the port is not added");
}

void LivePorts::Drain(const HostPort& port) const {
  for (int look = 0; look < kDrainLooks; ++look) {
    const uint64_t before = Received(port);
    if (!AskWorkers().Wait(steady_clock::now() + kTakeUpTime) || Received(port) == before) return;
  }
}

GracePeriod LivePorts::TakeOut(HostPort& port) {
  taps_.ChangePorts([&] { ports_.TakeOut(port); });
  Old old = Part(port, assembly_, workers_);
  old.push_back(ports_.OfferFlood(ports_.present().rows_elsewhere));
  return RetireOld(std::move(old));
}

absl::Status LivePorts::Remove(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return Unloaded();
  const auto& ports = ports_.host_ports();
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const auto& port) { return port->config().name == name; });
  if (found == ports.end()) {
    return absl::NotFoundError(absl::StrCat("name: this data plane has no port \"", name, "\""));
  }
  HostPort& port = **found;
  if (ports_.StopReceiving(port)) Drain(port);
  leaving_.push_back({TakeOut(port), &port});
  const bool taken_up = leaving_.back().period.Wait(steady_clock::now() + kTakeUpTime);
  CloseLeft();
  if (taken_up) return absl::OkStatus();
  return NotTakenUp("the port has no rows any more, and is closed when the worker does");
}

absl::Status LivePorts::SetRowsElsewhere(const std::vector<Row>& rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return Unloaded();
  if (rows == ports_.present().rows_elsewhere) return absl::OkStatus();
  RetireOld({ports_.OfferFlood(rows)}).Wait(steady_clock::now() + kTakeUpTime);
  retired_.Collect();
  return absl::OkStatus();
}

void LivePorts::CloseLeft() {
  std::erase_if(leaving_, [&](const Leaving& leaving) {
    if (!leaving.period.over()) return false;
    ports_.Close(*leaving.port);
    return true;
  });
  retired_.Collect();
}

}  // namespace bfly::dataplane
