// SPDX-License-Identifier: Apache-2.0
// Hosts keep their own MAC address. The edge of a port with one row turns the host's address into
// the row's address on the way in, and back on the way out. It also translates the addresses inside
// ARP and IPv6 neighbour discovery, also in frames with VLAN tags, at most two.
#pragma once

#include <cstdint>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// Translates a frame on its way in at `row`. The source address becomes the row's address, unless
// it has row form already. So do the sender hardware address of ARP and the link-layer address
// options of neighbour discovery, whose checksum is corrected. Returns the host's own address, or 0
// if the frame does not show it. `bytes` holds the first `length` >= 14 bytes of the frame, and
// nothing behind them is changed.
MacAddress TranslateIn(uint8_t* bytes, uint32_t length, Row row);

// Translates a frame on its way out at `row`, where the host is known as `host`. If the destination
// address and the target hardware address of ARP are the row's address, they become the host's
// address.
void TranslateOut(uint8_t* bytes, uint32_t length, Row row, MacAddress host);

}  // namespace bfly::dataplane
