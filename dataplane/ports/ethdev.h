// SPDX-License-Identifier: Apache-2.0
// One DPDK ethernet device, opened, configured and started; closed and removed at the end of its
// life.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/xdp/xdp_edge.h"
#include "dataplane/xdp/xsk_rings.h"

struct rte_mempool;

namespace bfly::dataplane {

struct EthdevConfig {
  std::string field;  // where the device is named, for messages: "ports[2].device"
  std::string
      device;  // "net_memif0,role=server", "0000:00:04.0", or the name of a device that is there
  std::string to_driver = {};  // what DPDK is given in place of `device`; empty: `device`
  int queue_pairs = 1;
  uint32_t max_frame_bytes = 1518;  // with the Ethernet header and room for one VLAN tag
  rte_mempool* pool = nullptr;      // outlives the device
  EdgeRules edge;                   // what the XDP program of a kernel interface goes by
};

class Ethdev {
 public:
  // InvalidArgument or Unavailable starts with `field` and says what DPDK said.
  static absl::StatusOr<std::unique_ptr<Ethdev>> Open(const EthdevConfig& config);
  ~Ethdev();
  Ethdev(const Ethdev&) = delete;
  Ethdev& operator=(const Ethdev&) = delete;

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  bool link_up() const;
  // Frames the device lost before anybody took them: no descriptor, errors, no buffer.
  uint64_t missed() const;
  // Gives the buffers back to the pool that the driver of an AF_XDP device would keep for ever. The
  // interface is gone and no worker uses the device, which is to be closed.
  void Reclaim();
  // Empty where the device has no XDP program of ours.
  XdpCounters xdp() const;

 private:
  Ethdev() = default;
  absl::Status Probe(const EthdevConfig& config);
  absl::Status Own(const EthdevConfig& config);
  absl::Status Configure(const EthdevConfig& config);

  std::unique_ptr<XdpEdge> edge_;  // of an AF_XDP device: goes after the device
  std::vector<XskRing> rings_;     // likewise
  rte_mempool* pool_ = nullptr;
  uint16_t id_ = 0;
  std::string name_;
  uint64_t owner_ = 0;   // DPDK's owner id: two ports cannot share a device
  bool probed_ = false;  // by us, so ours to remove
  bool started_ = false;
};

// `device` with a name DPDK does not know yet: "net_af_xdp,iface=a" becomes
// "net_af_xdp_b0,iface=a". A name that ends in a digit was numbered by the user and stays; a PCI
// address is written out.
std::string NumberedDevice(const std::string& device);

}  // namespace bfly::dataplane
