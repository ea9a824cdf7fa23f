// SPDX-License-Identifier: Apache-2.0
#include "control/agent/port_changes.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace bfly::control {
namespace {

using dataplane::HostPortConfig;
using Ports = std::vector<HostPortConfig>;

Ports Without(const Ports& ports, const Ports& others) {
  Ports rest;
  for (const HostPortConfig& port : ports) {
    if (std::find(others.begin(), others.end(), port) == others.end()) rest.push_back(port);
  }
  return rest;
}

// A data plane counts its own ports, which callers do not know. The port that is added is "port",
// and the others have their names.
absl::Status WithoutNumbers(const absl::Status& status, const Ports& present) {
  std::vector<std::pair<std::string, std::string>> words;
  for (size_t i = 0; i < present.size(); ++i) {
    words.emplace_back(absl::StrCat("ports[", i, "]"), absl::StrCat("port ", present[i].name));
  }
  words.emplace_back(absl::StrCat("ports[", present.size(), "]"), "port");
  return absl::Status(status.code(), absl::StrReplaceAll(status.message(), words));
}

absl::Status Add(const HostPortConfig& port, const DeviceCheck& check, dataplane::Fabric& fabric) {
  const absl::Status allowed =
      check == nullptr ? absl::OkStatus() : check("port.device", port.device);
  if (!allowed.ok()) return allowed;
  const Ports present = fabric.host_ports();
  const absl::Status status = fabric.AddPort(port);
  return status.ok() ? status : WithoutNumbers(status, present);
}

// The rows of a port are free also if a worker is late, and the data plane closes the device then.
absl::Status Remove(const HostPortConfig& port, dataplane::Fabric& fabric) {
  const absl::Status status = fabric.RemovePort(port.name);
  return absl::IsDeadlineExceeded(status) ? absl::OkStatus() : status;
}

absl::Status WithText(const absl::Status& status, const std::string& more) {
  return absl::Status(status.code(), absl::StrCat(status.message(), more));
}

}  // namespace

absl::Status ChangePorts(const dataplane::FabricConfig& wanted, const DeviceCheck& check,
                         dataplane::Fabric& fabric, std::vector<std::string>& lost) {
  const Ports before = fabric.host_ports();
  absl::Status status;
  for (const HostPortConfig& port : Without(before, wanted.ports)) {
    status.Update(Remove(port, fabric));
  }
  for (const HostPortConfig& port : Without(wanted.ports, before)) {
    if (status.ok()) status = Add(port, check, fabric);
  }
  if (status.ok()) status = fabric.SetRowsElsewhere(wanted.rows_elsewhere);
  if (status.ok()) return status;
  const Ports now = fabric.host_ports();
  for (const HostPortConfig& port : Without(now, before)) Remove(port, fabric).IgnoreError();
  for (const HostPortConfig& port : Without(before, now)) {
    const absl::Status again = fabric.AddPort(port);
    if (again.ok()) continue;
    lost.push_back(port.name);
    status = WithText(
        status, absl::StrCat("; port ", port.name, " was closed for this and does not open again: ",
                             WithoutNumbers(again, fabric.host_ports()).message()));
  }
  return status;
}

void RemovePorts(const std::vector<std::string>& names, v1::Topology& topology) {
  const auto remove = [&names](auto& items) {
    const auto named = [&names](const auto& item) {
      return std::find(names.begin(), names.end(), item.name()) != names.end();
    };
    items.erase(std::remove_if(items.begin(), items.end(), named), items.end());
  };
  remove(*topology.mutable_ports());
  remove(*topology.mutable_hosts());
}

}  // namespace bfly::control
