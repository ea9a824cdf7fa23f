// SPDX-License-Identifier: Apache-2.0
// PCI devices as a topology names them: what is there, and who holds it.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bfly::dataplane {

// The device string with its address written out, as DPDK names devices: "00:04.0,a=1" becomes
// "0000:00:04.0,a=1". Empty if it does not begin with a PCI address.
std::string PciDevice(const std::string& device);

// What stands between DPDK and the PCI device that `device` names, after `field` and with what to
// do about it: NotFound if there is none at the address, FailedPrecondition if no driver or the
// kernel's own holds it. OK if it is free for DPDK, or `device` names no PCI device.
absl::Status CheckPciDevice(const std::string& field, const std::string& device,
                            const std::string& sysfs = "/sys/bus/pci/devices");

}  // namespace bfly::dataplane
