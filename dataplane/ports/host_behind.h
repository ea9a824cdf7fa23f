// SPDX-License-Identifier: Apache-2.0
// The address of the host behind a kernel interface, where the kernel can tell before the host has
// said anything.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// Of a TAP its own address, because the host uses the TAP itself. Of a veth that net_af_xdp or
// net_af_packet use the other end's, also in another network namespace, unless that end belongs to
// a bridge: then any host may be behind it. 0: nobody can tell, or `device` is another driver's.
MacAddress HostBehind(const std::string& device, uint16_t ethdev);

// Whether the host behind the device is a kernel, which takes frames that are addressed to it or to
// everybody, and drops others.
bool LeadsToAKernel(const std::string& device);

}  // namespace bfly::dataplane
