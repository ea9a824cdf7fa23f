// SPDX-License-Identifier: Apache-2.0
// A kernel that sends through a veth, or another device that promises to do it, leaves the TCP or
// UDP checksum of a frame to the device: the field holds the sum of the pseudo header and nothing
// more. A frame that leaves such a device through AF_XDP or AF_PACKET comes to us like that, and no
// kernel behind the fabric would accept it. Hosts need not switch the offload off: the edge
// finishes the work.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

// Finishes the checksum of a TCP or UDP segment over IPv4 or IPv6 (at most two VLAN tags, no
// extension headers, no fragments) if its field holds the pseudo header's sum, and returns whether
// it did. A frame whose finished checksum happens to equal that sum stays as it is, being right
// already. Frames that are not whole are left alone. Never fails.
bool FinishChecksum(uint8_t* frame, uint32_t length);

}  // namespace bfly::dataplane
