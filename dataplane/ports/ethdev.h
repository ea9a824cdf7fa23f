// SPDX-License-Identifier: Apache-2.0
// One DPDK ethernet device. It is opened, configured and started by Open, and closed and removed by
// the destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/port_status.h"
#include "dataplane/ports/flow_rules.h"
#include "dataplane/ports/packet_sockets.h"
#include "dataplane/ports/queue_rule.h"
#include "dataplane/xdp/attached_program.h"
#include "dataplane/xdp/xdp_edge.h"
#include "dataplane/xdp/xsk_rings.h"

struct rte_eth_dev_info;
struct rte_mempool;

namespace bfly::dataplane {

class DpdkLogCapture;

struct EthdevConfig {
  std::string field;  // the device's place in the config, for messages: "ports[2].device"
  std::string
      device;  // "net_memif0,role=server", "0000:00:04.0", or the name of an existing device
  // The string that DPDK gets instead of `device`; empty: DPDK gets `device`.
  std::string to_driver = {};
  int queue_pairs = 1;
  uint32_t max_frame_bytes = 1518;  // with the Ethernet header and room for one VLAN tag
  rte_mempool* pool = nullptr;      // outlives the device
  EdgeRules edge;                   // the rules of a kernel interface's XDP program
  // The device gets the first of these sets of rules that it takes, if any.
  std::vector<QueueRules> queue_rules = {};
  bool needs_queue_rules = false;  // a device that takes none of the sets is refused
};

class Ethdev {
 public:
  // InvalidArgument or Unavailable starts with `field` and quotes DPDK.
  static absl::StatusOr<std::unique_ptr<Ethdev>> Open(const EthdevConfig& config);
  ~Ethdev();
  Ethdev(const Ethdev&) = delete;
  Ethdev& operator=(const Ethdev&) = delete;

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }
  // DPDK's name of the driver, such as "net_memif".
  const std::string& driver() const { return driver_; }
  // kFlowRules, kRss or kSoftware.
  Steering steering() const;
  bool link_up() const;
  // Frames that the device lost before a worker took them: no descriptor, errors, no buffer. One
  // thread at a time.
  uint64_t missed();
  // Takes the XDP program off the interface, bfly's or the user's own. From then on the interface's
  // frames pass to the kernel. Returns false if the device has no such program, or if it could not
  // be taken off; the device then goes on receiving.
  bool StopReceiving();
  // Returns the buffers to the pool that an AF_XDP device's driver would otherwise never return.
  // Call it when the interface is gone or StopReceiving has returned true, and when no worker uses
  // the device, just before the device is closed.
  void Reclaim();
  // Empty if the device does not have bfly's XDP program.
  XdpCounters xdp() const;

 private:
  Ethdev() = default;
  absl::Status Probe(const EthdevConfig& config);
  absl::Status Own(const EthdevConfig& config);
  absl::Status Configure(const EthdevConfig& config);
  // The steps of Configure.
  absl::Status SetUpSockets(const EthdevConfig& config, const rte_eth_dev_info& info);
  absl::Status CheckQueues(const EthdevConfig& config, const rte_eth_dev_info& info) const;
  absl::StatusOr<uint16_t> ChooseMtu(const EthdevConfig& config,
                                     const rte_eth_dev_info& info) const;
  absl::Status RaiseInterfaceMtu(const EthdevConfig& config, const rte_eth_dev_info& info,
                                 const DpdkLogCapture& log) const;
  absl::Status SetUpQueues(const EthdevConfig& config, const rte_eth_dev_info& info,
                           const DpdkLogCapture& log) const;
  absl::Status Start(const EthdevConfig& config, const DpdkLogCapture& log);
  void EmptyRings(int queues) const;
  absl::Status Steer(const EthdevConfig& config);

  std::unique_ptr<XdpEdge> edge_;  // of an AF_XDP device; destroyed after the device is closed
  AttachedProgram users_program_;  // of an AF_XDP device with the argument xdp_prog=
  bool stopped_ = false;           // the XDP program was taken off the interface
  std::vector<XskRing> rings_;     // of an AF_XDP device
  PacketRing packet_ring_;         // of an AF_PACKET device
  PacketSockets packet_sockets_;   // of an AF_PACKET device
  uint64_t missed_by_sockets_ = 0;
  std::unique_ptr<FlowRules> flow_rules_;  // null: the device has no flow rules
  bool spreads_ = false;                   // the device spreads frames by receive-side scaling
  rte_mempool* pool_ = nullptr;
  uint16_t id_ = 0;
  std::string name_;
  std::string driver_;
  uint64_t owner_ = 0;   // DPDK's owner id, because two ports cannot share a device
  bool probed_ = false;  // this object probed the device, so it removes it
  bool started_ = false;
};

// Returns `device` with a name that DPDK does not know yet: "net_af_xdp,iface=a" becomes
// "net_af_xdp_b0,iface=a". A name that ends in a digit stays as it is, because the user has
// numbered it. A PCI address is written in full.
std::string NumberedDevice(const std::string& device);

}  // namespace bfly::dataplane
