// SPDX-License-Identifier: Apache-2.0
// The figures of a running fabric as a reader sees them. Reading never slows a worker down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/core/ledger.h"
#include "dataplane/telemetry/worker_cost.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct LinkCounters {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint32_t occupancy = 0;  // packets on the link now: forwarded and not yet taken by the next stage
  uint32_t occupancy_peak = 0;  // its largest value since load
  DropCounts drops{};           // dropped on this link
  uint64_t busy_ns = 0;         // time spent sending, if the link has a rate
};

// A figure of a link by which links are compared.
enum class LinkFigure {
  kPackets,
  kBytes,
  kOccupancy,
  kOccupancyPeak,
  kDrops,
  kBusy,
  kUse,  // 0 if the link never carried, held or dropped a packet
};

inline uint64_t FigureOf(const LinkCounters& link, LinkFigure figure) {
  uint64_t drops = 0;
  for (const uint64_t packets : link.drops) drops += packets;
  switch (figure) {
    case LinkFigure::kPackets:
      return link.packets;
    case LinkFigure::kBytes:
      return link.bytes;
    case LinkFigure::kOccupancy:
      return link.occupancy;
    case LinkFigure::kOccupancyPeak:
      return link.occupancy_peak;
    case LinkFigure::kDrops:
      return drops;
    case LinkFigure::kBusy:
      return link.busy_ns;
    case LinkFigure::kUse:
      return link.packets | link.occupancy_peak | drops;
  }
  return 0;
}

// The counters of the XDP program of a kernel interface (dataplane/xdp).
struct XdpCounters {
  struct RowCount {
    Row row = 0;
    uint64_t packets = 0;
  };
  struct ActionCount {
    std::string name;  // "to_row", "foreign", "truncated", ...
    uint64_t packets = 0;
  };
  std::vector<RowCount> rows;        // rows to which frames were redirected
  std::vector<ActionCount> actions;  // every frame seen counts under one of these
};

struct QueueCounters {
  uint64_t rx_packets = 0, tx_packets = 0;
};

struct PortCounters {
  std::string name;
  std::string driver;                     // DPDK's name of the driver, such as "net_memif"
  uint64_t rx_packets = 0, rx_bytes = 0;  // frames taken from the device
  uint64_t tx_packets = 0, tx_bytes = 0;  // frames given to the device
  // Frames that the device dropped before a worker took them (imissed + ierrors + nombuf).
  uint64_t rx_missed = 0;
  DropCounts drops{};
  std::vector<QueueCounters> queues;  // for each queue pair of a host port
  XdpCounters xdp;                    // empty if the port has no XDP program
};

struct Conservation {
  uint64_t injected = 0;
  uint64_t delivered = 0;
  uint64_t dropped = 0;
  uint64_t in_flight = 0;

  Conservation& operator+=(const Conservation& other) {
    injected += other.injected;
    delivered += other.delivered;
    dropped += other.dropped;
    in_flight += other.in_flight;
    return *this;
  }
};

// Rings that lead from one worker to another.
struct RingOccupancy {
  int from_lcore = 0;
  // The most packets that wait in one of these rings now, and the most that ever waited in one.
  uint32_t waiting = 0;
  uint32_t peak = 0;
  uint32_t capacity = 0;  // the capacity of each ring
};

struct WorkerCounters {
  int lcore = 0;
  uint64_t passes = 0;
  uint64_t idle_passes = 0;
  Ledger ledger;
  // How late the worker released packets from links that take time.
  struct {
    uint64_t packets = 0;
    double mean_ns = 0;
    double p99_ns = 0;  // at most 1/16 too much
    double max_ns = 0;
  } lateness;
  // All hops, and the cycles of the passes that moved packets, including polls, edges and hand-over
  // in these passes, and the time in which the kernel ran something else on the CPU.
  HopCycles busy;
  PollCounts polls;                  // polls of ports, trunks, sources and rings
  std::vector<StageCost> stages;     // sampled costs, ordered by first stage
  std::vector<RingOccupancy> rings;  // rings that lead to this worker
};

struct Snapshot {
  uint64_t tsc = 0;
  uint64_t tsc_hz = 0;  // cycles in a second
  int first_stage = 0;  // stages this data plane runs: first_stage..last_stage,
  int last_stage = -1;  // a contiguous range
  std::vector<LinkCounters>
      links;  // indexed by network link, starting at (first_stage, row 0, port 0)
  std::vector<PortCounters> ports;
  PortCounters removed_ports;  // the sum over ports that were removed since load; has no name
  std::vector<WorkerCounters> workers;
  // The account of this data plane only; in_flight counts the packets that it holds itself. With
  // trunks
  //   injected + trunk_in = delivered + dropped + in_flight + trunk_out,
  // and the controller's sum over data planes has in_flight + (trunk_out - trunk_in) in flight.
  Conservation conservation;
  uint64_t trunk_in = 0;   // descriptors received from trunks
  uint64_t trunk_out = 0;  // descriptors sent into trunks
  DropCounts drops{};      // all drops of this data plane, by reason
};

}  // namespace bfly::dataplane
