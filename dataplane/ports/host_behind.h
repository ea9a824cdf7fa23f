// SPDX-License-Identifier: Apache-2.0
// The address of the host behind a kernel interface, if the kernel knows it before the host has
// sent anything.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// For a TAP, its own address, because the host uses the TAP itself. For a veth under net_af_xdp or
// net_af_packet, the address of the other end, also in another network namespace; but 0 if the
// other end belongs to a bridge, because any host may be behind a bridge. 0: unknown, or `device`
// has another driver.
MacAddress HostBehind(const std::string& device, uint16_t ethdev);

// True if the host behind the device is a kernel. A kernel takes only frames that are addressed to
// it, and broadcasts.
bool LeadsToAKernel(const std::string& device);

}  // namespace bfly::dataplane
