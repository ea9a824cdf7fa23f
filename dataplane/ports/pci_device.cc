// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pci_device.h"

#include <rte_pci.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

// The drivers that give a device to user space, and one whose devices DPDK shares with the kernel.
constexpr std::array<const char*, 4> kUsableDrivers = {"vfio-pci", "igb_uio", "uio_pci_generic",
                                                       "mlx5_core"};

std::string Advice(const std::string& address) {
  return absl::StrCat("bind it to vfio-pci: dpdk-devbind.py --bind=vfio-pci ", address);
}

}  // namespace

std::string PciDevice(const std::string& device) {
  const size_t end = device.find(',');
  rte_pci_addr address{};
  if (rte_pci_addr_parse(device.substr(0, end).c_str(), &address) != 0) return "";
  char name[PCI_PRI_STR_SIZE + 1];
  rte_pci_device_name(&address, name, sizeof(name));
  return end == std::string::npos ? name : name + device.substr(end);
}

absl::Status CheckPciDevice(const std::string& field, const std::string& device,
                            const std::string& sysfs) {
  const std::string pci = PciDevice(device);
  if (pci.empty()) return absl::OkStatus();
  const std::string address = pci.substr(0, pci.find(','));
  const std::filesystem::path entry = std::filesystem::path(sysfs) / address;
  std::error_code error;
  if (!std::filesystem::exists(entry, error)) {
    return absl::NotFoundError(absl::StrCat(field, ": this machine has no PCI device at ", address,
                                            "; /sys/bus/pci/devices lists its PCI devices"));
  }
  const std::filesystem::path link = std::filesystem::read_symlink(entry / "driver", error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(field, ": the PCI device ", address,
                                                      " is bound to no driver; ", Advice(address)));
  }
  const std::string driver = link.filename().string();
  for (const char* usable : kUsableDrivers) {
    if (driver == usable) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": the PCI device ", address, " is held by the kernel's driver ", driver,
                   "; ", Advice(address), " (the kernel loses it then)"));
}

}  // namespace bfly::dataplane
