// SPDX-License-Identifier: Apache-2.0
// Puts the workers of a loaded fabric together: their segments, the rings and lanes between
// segments, and the ways in and out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/ring.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/ports/egress.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/segment.h"

namespace bfly::dataplane {

// A ring between two workers has room for the packets that come during a pass of the other worker,
// and it fits a cache.
inline constexpr uint32_t kRingSlots = 1024;

class Assembly {
 public:
  // All arguments must outlive the object.
  Assembly(const Network& network, const FabricPlan& plan, LoadedStages& stages, LoadedPorts& ports,
           const Workers& workers)
      : network_(network),
        plan_(plan),
        stages_(stages),
        ports_(ports),
        workers_(workers),
        ways_in_(plan.segments.size()),
        egresses_(workers.size()) {}

  // Before Build: adds an inlet to a segment that begins at this data plane's first hop.
  void AddInlet(size_t segment, Inlet* inlet) { ways_in_[segment].push_back({inlet, false}); }
  void AddInlet(size_t segment, std::unique_ptr<Inlet> inlet);
  // Call it once, after the ports are open and before the workers start.
  void Build();

  // The segment of this number in the plan, and the one that carries packets at `row` over the last
  // hop of this data plane.
  Segment& hop_segment(size_t number) { return segment(hop_segments_[number]); }
  Segment& last_segment(Row row);

  // One for each worker; null for a worker by which no packet leaves.
  const std::vector<std::unique_ptr<Egress>>& egresses() const { return egresses_; }

  // For each worker: the segment that scatters packets from its inlets, and the rows of the inlets.
  struct Receiver {
    Segment* segment;
    std::set<Row> rows;
  };
  const std::map<int, Receiver>& receivers() const { return receivers_; }
  // For each row, the workers to which its packets are led, in order. Packets of a row without any
  // end at the workers of the last segments. Empty if a trunk leads on.
  const std::vector<std::vector<int>>& transmitters() const { return transmitters_; }

  // Any thread: adds to each worker, in their order, the rings that lead to it.
  void ReadRings(std::vector<WorkerCounters>& workers) const;

  // Call it after the workers stopped. It plays every worker's last pass, which takes the packets
  // on their way to the worker and drops all packets that the worker has.
  void Discard();

 private:
  struct WorkerRing {
    WorkerRing(uint32_t slots, int from, int to) : ring(slots), producer(from), consumer(to) {}
    Ring ring;
    int producer, consumer;  // indices of the workers
  };
  struct OwnedSegment {
    std::unique_ptr<Segment> segment;
    int worker;
  };
  struct WayIn {
    Inlet* inlet;
    bool trunk;
  };
  // A way in; its packets may begin at any of `rows`.
  struct Arrival {
    WayIn way;
    int worker;  // the worker that uses the inlet
    std::vector<Row> rows;
  };

  std::vector<Arrival> Arrivals() const;
  // The next four are called in this order: a worker runs its segments in the order of adding.
  void BuildReceivers();
  void BuildHops();
  void BuildWaysOut();
  void FuseStages();

  void LeadOn(size_t from);
  void SetNextHops();
  void LeadToTrunk();
  void LeadToPorts();
  // The workers that transmit to the port of each row, in order; none for a row without a port.
  std::vector<std::vector<int>> TransmittersOfRows();

  std::unique_ptr<Egress> MakeEgress(int worker) const;
  size_t NewSegment(int worker, std::vector<Stage*> hops);
  // Connects a segment to a segment of worker `consumer`: over a ring, or directly if the worker is
  // the same. Packets wait on the links of `last`, or on no link if `last` is null.
  Inlet* Connect(size_t from, Stage* last, int consumer);
  Segment& segment(size_t index) { return *segments_[index].segment; }
  bool IsLastHop(const SegmentPlan& segment) const;

  const Network& network_;
  const FabricPlan& plan_;
  LoadedStages& stages_;
  LoadedPorts& ports_;
  const Workers& workers_;
  std::vector<std::vector<WayIn>> ways_in_;  // for each segment of the plan
  std::vector<std::unique_ptr<WorkerRing>> rings_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  std::vector<std::unique_ptr<Egress>> egresses_;
  std::vector<OwnedSegment> segments_;
  std::vector<size_t> hop_segments_;  // for each segment of the plan: its index in segments_
  std::map<int, Receiver> receivers_;
  std::vector<std::vector<int>> transmitters_;  // one for each row
};

}  // namespace bfly::dataplane
