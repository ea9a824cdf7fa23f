// SPDX-License-Identifier: Apache-2.0
// Finishes checksums that a kernel left to a device. A kernel that sends through a veth, or another
// device that promises to compute TCP and UDP checksums, writes only the sum of the pseudo header
// to the checksum field. A frame from such a device reaches bfly through AF_XDP or AF_PACKET in
// this state, and no kernel behind the fabric would accept it. The edge computes the checksum, so
// hosts need not switch the offload off.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

// Finishes the checksum of a TCP or UDP segment over IPv4 or IPv6 (at most two VLAN tags, no
// extension headers, no fragments) if its field holds the pseudo header's sum. Returns whether it
// finished a checksum. A frame whose finished checksum happens to equal that sum stays as it is,
// because its checksum is right already. Incomplete frames are left alone. Never fails.
bool FinishChecksum(uint8_t* frame, uint32_t length);

}  // namespace bfly::dataplane
