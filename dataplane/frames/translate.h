// SPDX-License-Identifier: Apache-2.0
// Hosts keep the MAC address they have: the edge of a port with one row turns it into the row's on
// the way in, and back on the way out. ARP and IPv6 neighbour discovery carry the address inside,
// so there too.
#pragma once

#include <cstdint>

#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// On the way in at `row`. The source address becomes the row's, unless it has row form already; so
// do the sender hardware address of ARP and the link-layer address options of neighbour discovery,
// whose checksum is kept right. Returns the host's own address, or 0 if there is nothing to learn.
// `bytes` holds the first `length` >= 14 bytes of the frame; what is cut off is left alone.
MacAddress TranslateIn(uint8_t* bytes, uint32_t length, Row row);

// On the way out at `row`, where the host is known as `host`: the destination address and the
// target hardware address of ARP, if they are the row's, become the host's.
void TranslateOut(uint8_t* bytes, uint32_t length, Row row, MacAddress host);

}  // namespace bfly::dataplane
