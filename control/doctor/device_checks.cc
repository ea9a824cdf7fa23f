// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/doctor/check.h"

namespace bfly::control {
namespace {

constexpr char kDrivers[] = "/sys/bus/pci/drivers";
constexpr char kDevices[] = "/sys/bus/pci/devices";
// Drivers that hand a card to DPDK.
const std::vector<std::string>& HandingDrivers() {
  static const auto* const kNames =
      new std::vector<std::string>{"vfio-pci", "uio_pci_generic", "igb_uio"};
  return *kNames;
}

// Adds the card's interfaces, and whether they are up.
void AddInterfaces(const Machine& machine, const std::string& device, std::string* text) {
  std::vector<std::string> folders = {device + "/net"};
  for (const std::string& name : machine.Names(device)) {
    // The kernel puts a device of its own between a virtio card and its interface.
    if (absl::StartsWith(name, "virtio"))
      folders.push_back(absl::StrCat(device, "/", name, "/net"));
  }
  for (const std::string& folder : folders) {
    for (const std::string& interface : machine.Names(folder)) {
      const std::string state =
          machine.Text(absl::StrCat(folder, "/", interface, "/operstate")).value_or("");
      absl::StrAppend(text, ", ", interface, state == "up" ? " is UP" : " is down");
    }
  }
}

bool HasIommu(const Machine& machine) { return !machine.Names("/sys/class/iommu").empty(); }

}  // namespace

Finding CheckPciDrivers(const Machine& machine) {
  std::vector<std::string> loaded;
  for (const std::string& name : HandingDrivers()) {
    if (machine.Exists(absl::StrCat(kDrivers, "/", name))) loaded.push_back(name);
  }
  if (!machine.Exists(kDevices) || machine.Names(kDevices).empty()) {
    return {Fitness::kOk, "the machine has no PCI devices"};
  }
  if (loaded.empty()) {
    return {Fitness::kSlower, "none that hands cards to DPDK is loaded", "modprobe vfio-pci"};
  }
  const std::string found = absl::StrJoin(loaded, ", ");
  const bool unsafe = machine.Text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
  if (HasIommu(machine) || unsafe || loaded.front() != "vfio-pci") return {Fitness::kOk, found};
  return {Fitness::kSlower, absl::StrCat(found, ", and no IOMMU is on"),
          "switch the IOMMU on in the firmware and add intel_iommu=on to the kernel's command "
          "line (Intel); without an IOMMU: echo 1 > "
          "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"};
}

Finding CheckPciCards(const Machine& machine) {
  std::vector<std::string> bound;
  std::vector<std::string> could_be;
  for (const std::string& address : machine.Names(kDevices)) {
    const std::string device = absl::StrCat(kDevices, "/", address);
    // Class 02 is network controllers.
    if (!absl::StartsWith(machine.Text(device + "/class").value_or(""), "0x02")) continue;
    const std::string driver = machine.LinkName(device + "/driver");
    const std::vector<std::string>& handing = HandingDrivers();
    if (std::find(handing.begin(), handing.end(), driver) != handing.end()) {
      bound.push_back(absl::StrCat(address, " (", driver, ")"));
      continue;
    }
    std::string text = absl::StrCat(address, " (", driver.empty() ? "no driver" : driver);
    AddInterfaces(machine, device, &text);
    could_be.push_back(text + ")");
  }
  if (bound.empty() && could_be.empty()) return {Fitness::kOk, "the machine has none"};
  std::vector<std::string> parts;
  if (!bound.empty()) parts.push_back("for DPDK: " + absl::StrJoin(bound, ", "));
  if (!could_be.empty()) parts.push_back("could be bound: " + absl::StrJoin(could_be, ", "));
  const std::string found = absl::StrJoin(parts, "; ");
  if (!bound.empty()) return {Fitness::kOk, found};
  const std::string first = could_be.front().substr(0, could_be.front().find(' '));
  return {Fitness::kSlower, found,
          absl::StrCat("dpdk-devbind.py --bind=vfio-pci ", first,
                       ", but never the card that you are logged in through")};
}

}  // namespace bfly::control
