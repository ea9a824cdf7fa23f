// SPDX-License-Identifier: Apache-2.0
// The PCI devices that a topology names: whether they exist, and which driver holds them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bfly::dataplane {

// The device string with the full PCI address, as DPDK names devices: "00:04.0,a=1" becomes
// "0000:00:04.0,a=1". Empty if the string does not begin with a PCI address.
std::string PciDevice(const std::string& device);

// The error starts with `field` and says what to do. NotFound: there is no device at the address
// that `device` names. FailedPrecondition: no driver holds the device, or the kernel's own driver
// holds it. OK: DPDK can use the device, or `device` does not name a PCI device.
absl::Status CheckPciDevice(const std::string& field, const std::string& device,
                            const std::string& sysfs = "/sys/bus/pci/devices");

}  // namespace bfly::dataplane
