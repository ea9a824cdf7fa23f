// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/ethdev.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/ports/dpdk_log.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/interface_mtu.h"
#include "dataplane/ports/pci_device.h"
#include "dataplane/ports/unix_socket.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {
namespace {

constexpr uint16_t kDescriptors = 1024;
// Ethernet header and one VLAN tag, which DPDK does not count in an MTU.
constexpr uint32_t kMtuLeavesOut = 18;
constexpr uint32_t kUsualMtu = 1500;
constexpr char kAfPacket[] = "net_af_packet";

std::string NameOf(const std::string& device) { return device.substr(0, device.find(',')); }

bool Exists(const std::string& name) {
  uint16_t id;
  return rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0;
}

absl::Status AtField(const std::string& field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(field, ": ", status.message()));
}

// The longest frame that DPDK takes in an MTU of the device.
uint32_t LongestMtuFrame(const rte_eth_dev_info& info) {
  return std::min(info.max_rx_pktlen, info.max_mtu + kMtuLeavesOut);
}

// The longest frame that the device carries, with the Ethernet header and without FCS.
uint32_t LongestFrame(const rte_eth_dev_info& info, const std::string& driver,
                      const PacketRing& ring) {
  // memif chains buffers for frames of any length, although it reports 1,518.
  if (driver == "net_memif") return 0xffff;
  if (driver == "net_af_xdp") return LongestXdpFrame();
  const uint32_t longest = LongestMtuFrame(info);
  return driver == kAfPacket ? std::min(longest, ring.longest_frame()) : longest;
}

// The most likely reason why an AF_XDP device does not open. DPDK assumes one queue for each
// combined channel of the interface.
std::string TooManyQueues(const EthdevConfig& config, const XdpEdge* edge) {
  if (edge == nullptr || config.queue_pairs == 1) return "";
  return absl::StrCat("; queue_pairs is ", config.queue_pairs,
                      ": the interface must have that many combined channels (ethtool -l ",
                      edge->interface(), "), and a veth has none, which counts as one");
}

std::string Reason(int negative_errno) { return rte_strerror(-negative_errno); }

absl::Status Refused(const EthdevConfig& config, const DpdkLogCapture& log, absl::string_view what,
                     int negative_errno) {
  return absl::UnavailableError(absl::StrCat(config.field, ": \"", config.device, "\": ", what,
                                             ": ", Reason(negative_errno),
                                             " (DPDK: ", log.LastLines("said nothing more"), ")"));
}

}  // namespace

std::string NumberedDevice(const std::string& device) {
  if (const std::string pci = PciDevice(device); !pci.empty()) return pci;
  const std::string name = NameOf(device);
  if (name.empty() || Exists(name) || std::isdigit(static_cast<unsigned char>(name.back()))) {
    return device;
  }
  for (int i = 0;; ++i) {
    const std::string numbered = absl::StrCat(name, "_b", i);
    if (!Exists(numbered)) return numbered + device.substr(name.size());
  }
}

absl::StatusOr<std::unique_ptr<Ethdev>> Ethdev::Open(const EthdevConfig& config) {
  std::unique_ptr<Ethdev> dev(new Ethdev);
  dev->pool_ = config.pool;
  if (absl::Status status = dev->Probe(config); !status.ok()) return status;
  if (absl::Status status = dev->Own(config); !status.ok()) return status;
  const std::vector<XskRing> others = XskRings();
  const absl::Status configured = dev->Configure(config);
  dev->rings_ = Without(XskRings(), others);
  if (!configured.ok()) return configured;
  dev->users_program_ = AttachedProgram::OfUser(config.device);
  if (absl::Status status = dev->Steer(config); !status.ok()) return status;
  if (dev->edge_ != nullptr) {
    if (absl::Status status = dev->edge_->Start(config.edge); !status.ok()) {
      return AtField(config.field, status);
    }
  }
  return dev;
}

absl::Status Ethdev::Probe(const EthdevConfig& config) {
  const std::string pci = PciDevice(config.device);
  name_ = NameOf(pci.empty() ? config.device : pci);
  if (name_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        config.field, ": \"", config.device,
        "\" names no device; give a DPDK device such as net_memif0,role=server or 0000:00:04.0"));
  }
  if (!Exists(name_)) {
    std::string device = WithQueuePairs(config.to_driver.empty() ? config.device : config.to_driver,
                                        config.queue_pairs);
    if (const std::string socket = SocketMadeBy(device); !socket.empty()) {
      const absl::Status free = RemoveStaleSocket(socket, SOCK_STREAM);
      if (!free.ok()) return AtField(config.field, free);
    }
    if (XdpEdge::Wanted(device)) {
      auto edge = XdpEdge::Prepare(device);
      if (!edge.ok()) return AtField(config.field, edge.status());
      edge_ = std::move(*edge);
      device = edge_->device();
    }
    device = NumberedDevice(device);
    name_ = NameOf(device);
    if (absl::Status status = CheckPciDevice(config.field, device); !status.ok()) return status;
    DpdkLogCapture log;
    const int ret = rte_dev_probe(device.c_str());
    if (ret == -EFAULT) {  // no bus of DPDK knows a driver for this name
      return absl::InvalidArgumentError(absl::StrCat(
          config.field, ": DPDK has no driver for \"", name_,
          "\"; a device begins with its driver's name, such as net_memif, net_tap, net_af_xdp, "
          "net_vhost or net_pcap, or is a PCI address"));
    }
    if (ret < 0) {
      return absl::UnavailableError(absl::StrCat(
          config.field, ": cannot open \"", config.device, "\": ", Reason(ret),
          " (DPDK: ", log.LastLines("said nothing more"), ")", TooManyQueues(config, edge_.get())));
    }
    probed_ = true;
  }
  if (rte_eth_dev_get_port_by_name(name_.c_str(), &id_) == 0) return absl::OkStatus();
  probed_ = false;
  return absl::InvalidArgumentError(absl::StrCat(config.field, ": \"", config.device,
                                                 "\" is a device, but not an ethernet device"));
}

absl::Status Ethdev::Own(const EthdevConfig& config) {
  rte_eth_dev_owner owner{};
  if (rte_eth_dev_owner_new(&owner.id) != 0) {
    return absl::InternalError(absl::StrCat(config.field, ": DPDK gave no owner id"));
  }
  config.field.copy(owner.name, sizeof(owner.name) - 1);
  if (rte_eth_dev_owner_set(id_, &owner) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(config.field, ": \"", name_,
                                                   "\" is in use already; every port and trunk "
                                                   "needs a device of its own, numbered apart"));
  }
  owner_ = owner.id;
  return absl::OkStatus();
}

absl::Status Ethdev::Configure(const EthdevConfig& config) {
  DpdkLogCapture log;
  rte_eth_dev_info info{};
  if (int ret = rte_eth_dev_info_get(id_, &info); ret != 0) {
    return Refused(config, log, "no information", ret);
  }
  if (info.driver_name != nullptr) driver_ = info.driver_name;
  if (driver_ == kAfPacket) {
    if (absl::Status status = SetUpSockets(config, info); !status.ok()) return status;
  }
  if (absl::Status status = CheckQueues(config, info); !status.ok()) return status;
  const absl::StatusOr<uint16_t> mtu = ChooseMtu(config, info);
  if (!mtu.ok()) return mtu.status();
  const auto queues = static_cast<uint16_t>(config.queue_pairs);
  rte_eth_conf conf{};
  conf.rxmode.mtu = *mtu;
  if (queues > 1 && info.flow_type_rss_offloads != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
    spreads_ = conf.rx_adv_conf.rss_conf.rss_hf != 0;
  }
  // Every frame that is sent comes from this pool and has one owner.
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
  if (int ret = rte_eth_dev_configure(id_, queues, queues, &conf); ret != 0) {
    return Refused(
        config, log,
        absl::StrCat("cannot be configured with ", queues, " queue pairs and MTU ", *mtu), ret);
  }
  if (absl::Status status = RaiseInterfaceMtu(config, info, log); !status.ok()) return status;
  if (absl::Status status = SetUpQueues(config, info, log); !status.ok()) return status;
  return Start(config, log);
}

absl::Status Ethdev::SetUpSockets(const EthdevConfig& config, const rte_eth_dev_info& info) {
  const absl::StatusOr<PacketRing> ring = PacketRing::Of(config.device);
  if (!ring.ok()) return AtField(config.field, ring.status());
  packet_ring_ = *ring;
  packet_sockets_ = PacketSockets(info.if_index);
  if (absl::Status status = packet_sockets_.SetUp(packet_ring_); !status.ok()) {
    return AtField(absl::StrCat(config.field, ": \"", config.device, "\""), status);
  }
  return absl::OkStatus();
}

absl::Status Ethdev::CheckQueues(const EthdevConfig& config, const rte_eth_dev_info& info) const {
  const int most = std::min<int>(info.max_rx_queues, info.max_tx_queues);
  if (config.queue_pairs <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      config.field, ": queue_pairs is ", config.queue_pairs, ", but \"", config.device, "\" has ",
      most, " (", info.max_rx_queues, " to receive, ", info.max_tx_queues, " to send)"));
}

absl::StatusOr<uint16_t> Ethdev::ChooseMtu(const EthdevConfig& config,
                                           const rte_eth_dev_info& info) const {
  const uint32_t longest = LongestFrame(info, driver_, packet_ring_);
  if (config.max_frame_bytes > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat(config.field, ": frames of ", config.max_frame_bytes,
                     " bytes must pass, but \"", config.device, "\" carries at most ", longest,
                     "; lower max_frame_bytes or use another device"));
  }
  // The MTU is never below the usual one, so that frames over a smaller limit are received, counted
  // and dropped, and never above DPDK's limit.
  const uint32_t wanted = std::max(config.max_frame_bytes, kUsualMtu + kMtuLeavesOut);
  const uint32_t largest_mtu_frame = LongestMtuFrame(info);
  return static_cast<uint16_t>(std::min(wanted, largest_mtu_frame) - kMtuLeavesOut);
}

// rte_eth_dev_configure does not tell the kernel. The interface may have a larger MTU for others.
absl::Status Ethdev::RaiseInterfaceMtu(const EthdevConfig& config, const rte_eth_dev_info& info,
                                       const DpdkLogCapture& log) const {
  const uint32_t present = InterfaceMtu(info);
  // The kernel sends no untagged frame through an AF_PACKET socket that is longer than the MTU and
  // the Ethernet header. DPDK would refuse this MTU, because it adds room for a VLAN tag. An
  // interface whose MTU cannot be so large, as a macvlan's, keeps the MTU that it has.
  const uint32_t untagged = config.max_frame_bytes - RTE_ETHER_HDR_LEN;
  if (driver_ == kAfPacket && present < untagged && SetInterfaceMtu(info.if_index, untagged)) {
    return absl::OkStatus();
  }
  const uint32_t needed = config.max_frame_bytes - kMtuLeavesOut;
  if (present >= needed) return absl::OkStatus();
  const int ret = rte_eth_dev_set_mtu(id_, static_cast<uint16_t>(needed));
  if (ret == 0) return absl::OkStatus();
  return Refused(config, log,
                 absl::StrCat("frames of ", config.max_frame_bytes,
                              " bytes must pass, but the interface's MTU of ", present,
                              " cannot be raised to ", needed, "; lower max_frame_bytes"),
                 ret);
}

absl::Status Ethdev::SetUpQueues(const EthdevConfig& config, const rte_eth_dev_info& info,
                                 const DpdkLogCapture& log) const {
  // A driver may ask for longer rings. AF_XDP does, because the kernel fills its rings between two
  // polls.
  uint16_t rx_descriptors = std::max(kDescriptors, info.default_rxportconf.ring_size);
  uint16_t tx_descriptors = std::max(kDescriptors, info.default_txportconf.ring_size);
  if (int ret = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_descriptors, &tx_descriptors); ret != 0) {
    return Refused(config, log, "cannot size its rings", ret);
  }
  // The device's node may have no memory left, or none that DPDK knows: it looks for nodes at CPUs
  // up to 127 only.
  const auto on_a_node = [node = rte_eth_dev_socket_id(id_)](const auto& set_up) {
    const int ret = set_up(static_cast<unsigned>(node));
    return ret == -ENOMEM ? set_up(static_cast<unsigned>(SOCKET_ID_ANY)) : ret;
  };
  for (uint16_t q = 0; q < config.queue_pairs; ++q) {
    int ret = on_a_node([&](unsigned node) {
      return rte_eth_rx_queue_setup(id_, q, rx_descriptors, node, nullptr, config.pool);
    });
    if (ret != 0) {
      return Refused(config, log, absl::StrCat("cannot set up receive queue ", q), ret);
    }
    ret = on_a_node([&](unsigned node) {
      return rte_eth_tx_queue_setup(id_, q, tx_descriptors, node, nullptr);
    });
    if (ret != 0) {
      return Refused(config, log, absl::StrCat("cannot set up transmit queue ", q), ret);
    }
  }
  return absl::OkStatus();
}

absl::Status Ethdev::Start(const EthdevConfig& config, const DpdkLogCapture& log) {
  if (int ret = rte_eth_dev_start(id_); ret != 0)
    return Refused(config, log, "does not start", ret);
  started_ = true;
  if (driver_ == kAfPacket) EmptyRings(config.queue_pairs);
  const int promiscuous = rte_eth_promiscuous_enable(id_);
  if (promiscuous != 0 && promiscuous != -ENOTSUP) {
    return Refused(config, log, "cannot receive frames for all addresses (promiscuous)",
                   promiscuous);
  }
  return absl::OkStatus();
}

// The rings may have frames that came before the sockets were set up, and even before the driver
// bound them to the interface: frames of this kernel, and frames of other interfaces.
void Ethdev::EmptyRings(int queues) const {
  for (uint16_t q = 0; q < queues; ++q) {
    rte_mbuf* frames[kBurst];
    for (uint32_t taken = 0; taken < packet_ring_.slots;) {
      const uint16_t count = rte_eth_rx_burst(id_, q, frames, kBurst);
      if (count == 0) break;
      rte_pktmbuf_free_bulk(frames, count);
      taken += count;
    }
  }
}

absl::Status Ethdev::Steer(const EthdevConfig& config) {
  flow_rules_ = FlowRules::Install(id_, config.queue_rules);
  if (flow_rules_ != nullptr || !config.needs_queue_rules) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(config.field, ": \"", config.device,
                   "\" now refuses the flow rules that it accepted before"));
}

Steering Ethdev::steering() const {
  if (flow_rules_ != nullptr) return Steering::kFlowRules;
  return spreads_ ? Steering::kRss : Steering::kSoftware;
}

Ethdev::~Ethdev() {
  flow_rules_.reset();
  if (started_) rte_eth_dev_stop(id_);
  if (owner_ != 0) rte_eth_dev_owner_unset(id_, owner_);
  if (!probed_) return;
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id_, &info) == 0 && info.device != nullptr) rte_dev_remove(info.device);
  CloseLeft(rings_);
}

bool Ethdev::StopReceiving() {
  if (!stopped_) stopped_ = edge_ != nullptr ? edge_->Stop() : users_program_.Detach().ok();
  return stopped_;
}

void Ethdev::Reclaim() {
  for (rte_mbuf* buffer : BuffersIn(rings_, pool_)) rte_pktmbuf_free(buffer);
}

bool Ethdev::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

XdpCounters Ethdev::xdp() const {
  if (edge_ == nullptr) return {};
  auto counters = edge_->counters();
  return counters.ok() ? *std::move(counters) : XdpCounters{};
}

uint64_t Ethdev::missed() {
  missed_by_sockets_ += packet_sockets_.TakeDropped();
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return missed_by_sockets_;
  return stats.imissed + stats.ierrors + stats.rx_nombuf + missed_by_sockets_;
}

}  // namespace bfly::dataplane
