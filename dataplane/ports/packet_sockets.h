// SPDX-License-Identifier: Apache-2.0
// The AF_PACKET sockets of a net_af_packet device. The driver (DPDK 22.11) opens them and leaves
// them with settings that a switch cannot use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::dataplane {

// The ring of a queue pair from which frames are received. The ring to send has the same size. The
// defaults are the driver's.
struct PacketRing {
  uint32_t slot_bytes = 2048;  // the argument framesz of the device
  uint32_t slots = 512;        // the argument framecnt

  // InvalidArgument: framesz, blocksz or framecnt is given twice or is not a number above 0. The
  // driver would take the last one, and read "1024x" as 1024. Or framesz does not divide blocksz,
  // by default a page: the kernel leaves the rest of each block empty, but the driver expects one
  // slot right behind the other (DPDK 22.11, rte_eth_af_packet.c).
  static absl::StatusOr<PacketRing> Of(const std::string& device);

  // Bytes of the longest frame, without FCS, that can be told from a frame that the kernel cut to
  // the slot.
  uint32_t longest_frame() const;
};

// Not thread-safe. The driver owns the sockets: no call may follow rte_eth_dev_stop.
class PacketSockets {
 public:
  PacketSockets() = default;
  // The AF_PACKET sockets of this process that are bound to the interface with this index.
  explicit PacketSockets(uint32_t interface);

  // Makes the sockets ignore the frames that this kernel itself sends on the interface, and report
  // that they can be written as long as the ring to send is full. The driver waits without a limit
  // for a socket that does not. Frames that came before this call are still in the ring.
  // PermissionDenied: this process lacks CAP_NET_ADMIN of the machine's first user namespace.
  // Unavailable: there are no sockets, or the kernel refuses.
  absl::Status SetUp(const PacketRing& ring) const;

  // The number of frames that the kernel dropped since the call before because a ring was full.
  uint64_t TakeDropped() const;

 private:
  std::vector<int> sockets_;
};

}  // namespace bfly::dataplane
