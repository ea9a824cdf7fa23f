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
  std::vector<int> lcores;    // lcore that polls queue q is lcores[q % size]; empty: the workers of
                              // `rows` in turn, at the first stage to receive, at the last to send
  bool translate_mac = true;  // hosts keep their own MAC; the edge maps it to the row's and back
  friend bool operator==(const HostPortConfig&, const HostPortConfig&) = default;
};

// A trunk: an ethdev that carries the boundary between `after_stage` and `after_stage` + 1 to
// another data plane.
struct TrunkConfig {
  std::string name;
  std::string device;
  int after_stage = 0;  // frames that crossed this stage leave (or enter) here
  bool sends = false;   // this side runs `after_stage`; the other side runs the next
  int queue_pairs = 1;  // each with an equal part of the rows (frames/trunk_frame.h)
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
  kAdaptive,  // sleeps 10..100 us after passes that found nothing
};

// The frames that a pair without a circuit may send.
enum class WithoutCircuit { kDrop, kBestEffort };

struct FabricConfig {
  std::string name;
  NetworkSpec network;
  AddressingConfig addressing;
  std::vector<StagePlacement>
      placement;                      // the stages this data plane runs; others belong to its peers
  std::vector<HostPortConfig> ports;  // of this data plane
  // Rows with a host port on another data plane: floods go there too.
  std::vector<Row> rows_elsewhere;
  std::vector<TrunkConfig> trunks;
  WithoutCircuit without_circuit = WithoutCircuit::kBestEffort;
  LinkPlan links;                   // of the whole network
  LinkCapacity circuit_capacity;    // of the whole network; for circuits set up in band
  uint32_t queue_memory_mb = 256;   // 1..262144, for packets on links that take time
  uint32_t max_frame_bytes = 1518;  // 64..9018, with the Ethernet header, without FCS
  uint32_t mbufs = 0;               // 0: sized from ports and queues
  int spare_queue_pairs = 0;        // with mbufs 0: buffers for ports that are added later
  IdleMode idle = IdleMode::kAdaptive;
};

}  // namespace bfly::dataplane
