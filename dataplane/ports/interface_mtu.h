// SPDX-License-Identifier: Apache-2.0
// The MTU that the kernel has for the interface of a net_af_xdp or net_af_packet device, in bytes
// without the Ethernet header.
#pragma once

#include <cstdint>

struct rte_eth_dev_info;

namespace bfly::dataplane {

// UINT32_MAX: it is another kind of device, or the kernel does not report an MTU.
uint32_t InterfaceMtu(const rte_eth_dev_info& info);

// Returns whether the kernel now has this MTU for the interface with this index.
bool SetInterfaceMtu(uint32_t interface, uint32_t mtu);

}  // namespace bfly::dataplane
