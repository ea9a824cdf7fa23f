// SPDX-License-Identifier: Apache-2.0
// The whole configuration of a data plane, in plain values. The agent fills it from
// bfly.v1.Topology; tests fill it by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/core/row_range.h"
#include "dataplane/links/link_shape.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::dataplane {

enum class AddressingMode {
  kMac,         // 02:bf:00:RR:RR:RR, the low 24 bits are the row
  kIpv4Prefix,  // row = destination IPv4 address - prefix base
};

struct AddressingConfig {
  AddressingMode mode = AddressingMode::kMac;
  uint32_t ipv4_base = 0;    // host byte order; the address of row 0
  int ipv4_prefix_len = 32;  // 2^(32 - len) >= rows
};

// A host port: an ethdev where the outside world is attached to rows.
struct HostPortConfig {
  std::string name;  // unique in the topology
  std::string
      device;  // DPDK device string, such as "net_memif0,role=server,id=0" or "0000:00:04.0"
  std::vector<Row> rows;
  int queue_pairs = 1;
  // Queue q is polled by lcores[q % size]. Empty: the workers of `rows` poll the queues in turn;
  // workers of the first stage receive, and workers of the last stage send.
  std::vector<int> lcores;
  // Hosts keep their own MAC; the edge maps it to the row's address and back.
  bool translate_mac = true;
  friend bool operator==(const HostPortConfig&, const HostPortConfig&) = default;
};

// A trunk: an ethdev that carries the boundary between `after_stage` and `after_stage` + 1 to
// another data plane.
struct TrunkConfig {
  std::string name;
  std::string device;
  int after_stage = 0;  // frames that have crossed this stage leave (or enter) here
  bool sends = false;   // this side runs `after_stage`; the other side runs the next stage
  int queue_pairs = 1;  // each queue pair has an equal part of the rows (frames/trunk_frame.h)
  // The sender may have run before: what it sent then went to another process, and is not missing.
  bool joins = false;
};

// The worker of `lcore` runs these rows of these stages.
struct StagePlacement {
  int first_stage = 0;
  int last_stage = 0;  // inclusive
  int lcore = 0;
  RowRange rows = {};
};

enum class IdleMode {
  kPoll,      // never gives the core away
  kAdaptive,  // sleeps 10..100 us after passes that found no packet
};

// The frames that a pair without a circuit may send.
enum class WithoutCircuit { kDrop, kBestEffort };

struct FabricConfig {
  std::string name;
  NetworkSpec network;
  AddressingConfig addressing;
  std::vector<StagePlacement>
      placement;                      // the stages this data plane runs; others belong to its peers
  std::vector<HostPortConfig> ports;  // the host ports of this data plane
  // Rows with a host port on another data plane: floods go to these rows too.
  std::vector<Row> rows_elsewhere;
  std::vector<TrunkConfig> trunks;
  WithoutCircuit without_circuit = WithoutCircuit::kBestEffort;
  LinkPlan links;  // the link settings of the whole network
  // Links by their index in the network. down_links are links of stages that run here, and are down
  // before the first packet. avoided_links is as for Fabric::AvoidLinks.
  std::vector<uint64_t> down_links = {};
  std::vector<uint64_t> avoided_links = {};
  // The capacities of the whole network, for circuits set up in band.
  LinkCapacity circuit_capacity;
  uint32_t queue_memory_mb = 256;   // 1..262144, for packets on links that take time
  uint32_t max_frame_bytes = 1518;  // 64..9018, with the Ethernet header, without FCS
  uint32_t mbufs = 0;               // 0: computed from ports and queues
  int spare_queue_pairs = 0;        // with mbufs 0: buffers for ports that are added later
  IdleMode idle = IdleMode::kAdaptive;
};

}  // namespace bfly::dataplane
