// SPDX-License-Identifier: Apache-2.0
// A model of servers that run one fabric together: what a frame costs the cores, the NICs and the
// memory of each server, and which of them is used up first. Pure functions. docs/plan.md has the
// formulas and says what the model leaves out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// Some constants repeat a figure of the data plane; rack_test compares them with it.
// Preamble and gap of a frame on the wire.
inline constexpr double kWireBytes = 20;
// What a trunk puts in front of a frame without FCS: an Ethernet header and bfly's own.
inline constexpr double kTrunkBytes = 14 + 40;
// Counters of a row in a run of up to kFusedHops hops: 16 of packets and bytes.
inline constexpr double kFusedRowBytes = 256;
inline constexpr int kFusedHops = 4;
// The state of a link, and of a packet on a link that takes time (docs/links.md).
inline constexpr double kLinkBytes = 200;
inline constexpr double kWaitingBytes = 68;
// A buffer of a frame, and how many of them a core has besides those of frames on links.
inline constexpr double kBufferBytes = 2304;
inline constexpr double kBuffersOfCore = 8192;

// Nanoseconds of a core for one frame.
struct CoreCosts {
  double driver = 0;          // receive and send
  double receive_part = 0.5;  // of driver
  double edge = 0;
  double hop = 0;        // a hop whose counters are in the second-level cache
  double far_hop = 0;    // a hop whose counters are not in that cache
  double timed_hop = 0;  // over a link with a rate or a delay
  double hand_over = 0;  // both cores together
  double trunk = 0;      // both servers together, besides the driver

  double receive() const { return driver * receive_part; }
  double send() const { return driver - receive(); }
};

struct ServerShape {
  int cores = 0;
  double nic_gbps = 0;  // of all its ports, each way
  double memory_bytes = 0;
  double l2_bytes = 0;  // of a core
};

enum class RackCut { kStages, kRows };

struct RackDemand {
  // By hop: the position of the row address that the hop sets; 1 is the leftmost (Network). The
  // first positions say in which block of rows a frame is.
  std::vector<int> positions = {};
  uint32_t rows = 0;       // a host port each; a power of two
  double gbps = 0;         // of a host port
  double frame_bytes = 0;  // mean, with FCS
  RackCut cut = RackCut::kStages;
  bool timed = false;
  double delay_seconds = 0;  // of every link
  // Every core sends into the trunks and polls them by a queue of its own. If not, a core of its
  // own does so for all others, one for each direction.
  bool trunk_queues = false;
};

// Frames a second of a host port at line rate.
double LineRate(const RackDemand& demand);

// The mean size of frames with FCS: "64" to "9022", or "imix", 7 of 64 bytes, 4 of 594 and 1 of
// 1,518 in 12. InvalidArgument says what would be right.
absl::StatusOr<double> MeanFrameBytes(absl::string_view name);

// What a server needs of a resource at line rate, as a part of what it has.
struct ResourceNeed {
  std::string resource;  // "cores", "trunk core", "NIC in", "NIC out", "memory"
  double part = 0;
};

struct Rack {
  int servers = 0;
  // Of the server that needs most of its cores: how it shares its hops and rows among cores, and
  // its cores that only serve trunks.
  int stage_groups = 0;
  int row_blocks = 0;
  int trunk_cores = 0;
  double frame_ns = 0;     // of its core that needs most, for a frame of its rows
  int hops_of_server = 0;  // of the server with the most
  // Gb/s that a server sends to other servers, of the server that sends most.
  double trunk_gbps = 0;
  double memory_bytes = 0;  // of the server that needs most
  std::vector<ResourceNeed> needs =
      {};  // of the server that needs most of each; always the same five
  int cores() const { return stage_groups * row_blocks + trunk_cores; }
  // The resource that is used up first when the load rises.
  const ResourceNeed& first() const;
  // The part of line rate at which it is used up; above 1 there is room.
  double breaking_load() const { return 1 / first().part; }
};

// As many servers as cut() allows: the hops, or the rows.
int MostServers(const RackDemand& demand);

// `servers` is 1..MostServers, and a power of two where rows are cut. Of the ways to share a
// server's work among its cores, takes the one with the fewest cores that are at most `most_busy`
// in use, or else the fastest.
Rack PlanRack(const RackDemand& demand, const ServerShape& server, const CoreCosts& costs,
              int servers, double most_busy);

// The smallest number of servers that need at most `most_busy` of every resource; if none does, the
// one that carries the largest load.
Rack SmallestRack(const RackDemand& demand, const ServerShape& server, const CoreCosts& costs,
                  double most_busy);

// Nanoseconds of the slowest core for a frame of its rows, on one server without trunks. Each of
// `hops_of_group` is the number of hops of a group of cores; each group has a core for each of
// `row_blocks`.
double SlowestCore(const RackDemand& demand, double l2_bytes, const CoreCosts& costs,
                   const std::vector<int>& hops_of_group, int row_blocks);

}  // namespace bfly::control
