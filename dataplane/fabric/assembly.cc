// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/assembly.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dataplane/fabric/lane_groups.h"
#include "dataplane/runtime/numa.h"

namespace bfly::dataplane {
namespace {

void NoteRing(const Ring& ring, int from_lcore, std::vector<RingOccupancy>& rings) {
  auto told = std::find_if(rings.begin(), rings.end(), [&](const RingOccupancy& other) {
    return other.from_lcore == from_lcore;
  });
  if (told == rings.end()) told = rings.insert(told, {.from_lcore = from_lcore});
  told->waiting = std::max(told->waiting, ring.waiting());
  told->peak = std::max(told->peak, ring.peak());
  told->capacity = ring.capacity();
}

// The lanes of a segment to the segments of the plan that begin behind it, one to each.
class LaneBuilder {
 public:
  explicit LaneBuilder(Row rows)
      : lane_groups_{.group_of_row = std::vector<uint16_t>(rows), .groups = {}} {}

  // Leads packets at `row` to the segment `begin` of the plan. Returns true if its lane is new: the
  // caller adds the new lanes to the segment in the order of these calls.
  bool Lead(Row row, int begin) {
    const auto [lane, fresh] = lane_to_.emplace(begin, static_cast<uint16_t>(lane_to_.size()));
    lane_groups_.group_of_row[row] = lane->second;
    if (fresh) lane_groups_.groups.push_back({lane->second});
    return fresh;
  }
  // Call it last, and once. A segment with one lane needs no groups.
  void Apply(Segment& segment) {
    if (lane_to_.size() > 1) segment.SetLaneGroups(std::move(lane_groups_));
  }

 private:
  std::map<int, uint16_t> lane_to_;  // by segment of the plan
  Segment::LaneGroups lane_groups_;
};

}  // namespace

void Assembly::AddInlet(size_t segment, std::unique_ptr<Inlet> inlet) {
  inlets_.push_back(std::move(inlet));
  AddInlet(segment, inlets_.back().get());
}

void Assembly::Build() {
  BuildReceivers();
  BuildHops();
  BuildWaysOut();
  FuseStages();
}

size_t Assembly::NewSegment(int worker, std::vector<Stage*> hops) {
  const OnNode on(workers_[worker]->node());
  segments_.push_back({std::make_unique<Segment>(std::move(hops)), worker});
  workers_[worker]->AddSegment(segments_.back().segment.get());
  return segments_.size() - 1;
}

Inlet* Assembly::Connect(size_t from, Stage* last, int consumer) {
  const OnNode on(workers_[consumer]->node());
  if (segments_[from].worker == consumer) {
    segment(from).AddLane(Lane::ToLater(last));
    inlets_.push_back(std::make_unique<LocalInlet>(&segment(from), segment(from).lanes() - 1));
  } else {
    rings_.push_back(std::make_unique<WorkerRing>(kRingSlots, segments_[from].worker, consumer));
    Ring* const ring = &rings_.back()->ring;
    segment(from).AddLane(Lane::ToRing(ring, last));
    inlets_.push_back(std::make_unique<RingInlet>(ring));
  }
  return inlets_.back().get();
}

std::vector<Assembly::Arrival> Assembly::Arrivals() const {
  std::vector<Arrival> arrivals;
  if (plan_.has_first_hop()) {
    for (const auto& port : ports_.host_ports()) {
      const std::vector<int> pollers = plan_.PollersOf(port->config(), 0);
      for (int q = 0; q < port->queue_pairs(); ++q) {
        arrivals.push_back({.way = {&port->inlet(q), false},
                            .worker = pollers[static_cast<size_t>(q)],
                            .rows = port->config().rows});
      }
    }
  }
  if (ports_.trunk_in() != nullptr) {
    for (const Trunk::WayIn& way : ports_.trunk_in()->ways_in()) {
      arrivals.push_back({.way = {way.inlet.get(), true}, .worker = way.worker, .rows = way.rows});
    }
  }
  return arrivals;
}

// If all packets of an inlet begin in one segment of its worker, that segment polls the inlet. One
// segment without hops per worker polls the other inlets and hands every packet to the segment that
// begins at its row.
void Assembly::BuildReceivers() {
  std::map<int, std::vector<Arrival>> scattered;  // the arrivals of each worker
  for (Arrival& arrival : Arrivals()) {
    std::set<int> begins;
    for (Row row : arrival.rows)
      begins.insert(plan_.segment_from(plan_.segments[0].first_hop, row));
    const int only = *begins.begin();
    if (begins.size() == 1 && plan_.segments[only].worker == arrival.worker) {
      ways_in_[only].push_back(arrival.way);
    } else {
      scattered[arrival.worker].push_back(std::move(arrival));
    }
  }
  for (const auto& [worker, arrivals] : scattered) {
    const size_t receiver = NewSegment(worker, {});
    receivers_[worker].segment = &segment(receiver);
    LaneBuilder lanes(network_.rows());
    for (const Arrival& arrival : arrivals) {
      segment(receiver).AddInlet(arrival.way.inlet, arrival.way.trunk);
      receivers_[worker].rows.insert(arrival.rows.begin(), arrival.rows.end());
      for (Row row : arrival.rows) {
        const int begin = plan_.segment_from(plan_.segments[0].first_hop, row);
        if (!lanes.Lead(row, begin)) continue;
        ways_in_[begin].push_back(
            {Connect(receiver, nullptr, plan_.segments[begin].worker), false});
      }
    }
    lanes.Apply(segment(receiver));
  }
}

void Assembly::BuildHops() {
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    std::vector<Stage*> hops;
    for (int h = plan.first_hop; h < plan.end(); ++h) {
      hops.push_back(&stages_.of(network_.stage_of_hop(h), plan.rows.first));
    }
    hop_segments_.push_back(NewSegment(plan.worker, std::move(hops)));
    for (const WayIn& way : ways_in_[i]) segment(hop_segments_[i]).AddInlet(way.inlet, way.trunk);
    if (!IsLastHop(plan)) LeadOn(i);
  }
  if (network_.hops() != network_.stages()) SetNextHops();
}

bool Assembly::IsLastHop(const SegmentPlan& segment) const {
  return segment.end() == plan_.segments.back().end();
}

// Leads to the segments that begin behind the last hop of a segment.
void Assembly::LeadOn(size_t from) {
  const SegmentPlan& plan = plan_.segments[from];
  const int stage = network_.stage_of_hop(plan.end() - 1);
  LaneBuilder lanes(network_.rows());
  for (Row row = plan.rows.first; row <= plan.rows.last; ++row) {
    for (int port = 0; port < network_.ports(); ++port) {
      const Row head = network_.next_row(stage, row, port);
      const int begin = plan_.segment_from(plan.end(), head);
      if (!lanes.Lead(head, begin)) continue;
      ways_in_[begin].push_back({Connect(hop_segments_[from], &stages_.of(stage, plan.rows.first),
                                         plan_.segments[begin].worker),
                                 false});
    }
  }
  lanes.Apply(segment(hop_segments_[from]));
}

// Several passes run in one data plane, so every hop is here. Only packets of its own rows come out
// of the stages of a segment.
void Assembly::SetNextHops() {
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    std::vector<Segment::NextHop> next_hops(static_cast<size_t>(network_.hops()));
    for (size_t j = 0; j < plan_.segments.size(); ++j) {
      const SegmentPlan& other = plan_.segments[j];
      if (other.worker != plan_.segments[i].worker || !(other.rows == plan_.segments[i].rows))
        continue;
      const auto first = static_cast<size_t>(other.first_hop);
      for (size_t h = 0; h < static_cast<size_t>(other.hops); ++h) {
        next_hops[first + h] = {&segment(hop_segments_[j]), h + 1};
      }
    }
    segment(hop_segments_[i]).SetNextHops(std::move(next_hops));
  }
}

Segment& Assembly::last_segment(Row row) {
  size_t i = plan_.segments.size() - 1;
  while (!IsLastHop(plan_.segments[i]) || !plan_.segments[i].rows.has(row)) --i;
  return segment(hop_segments_[i]);
}

void Assembly::BuildWaysOut() {
  if (ports_.trunk_out() != nullptr) {
    LeadToTrunk();  // packets leave to hosts from another data plane
  } else {
    LeadToPorts();
  }
}

// If only one segment leads to a worker's way out, and the worker runs it, the packets leave from
// there. Otherwise the worker has a segment without hops that gathers them.
void Assembly::LeadToTrunk() {
  const std::vector<Trunk::WayOut>& ways_out = ports_.trunk_out()->ways_out();
  const std::vector<uint16_t> way_of_row = WayOfRow(network_.rows(), ways_out);
  std::vector<std::set<size_t>> feeders(ways_out.size());
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    if (!IsLastHop(plan)) continue;
    for (Row row = plan.rows.first; row <= plan.rows.last; ++row) {
      for (int port = 0; port < network_.ports(); ++port) {
        feeders[way_of_row[network_.next_row(plan_.last_stage, row, port)]].insert(i);
      }
    }
  }
  const auto last_stage_of = [this](size_t i) {
    return &stages_.of(plan_.last_stage, plan_.segments[i].rows.first);
  };
  // The lane of each segment of the plan to each way out.
  std::map<size_t, std::map<size_t, uint16_t>> lane_to;
  for (size_t w = 0; w < ways_out.size(); ++w) {
    if (feeders[w].empty()) continue;
    const int worker = ways_out[w].worker;
    const size_t first = *feeders[w].begin();
    const bool direct = feeders[w].size() == 1 && plan_.segments[first].worker == worker;
    const size_t sender = direct ? hop_segments_[first] : NewSegment(worker, {});
    for (size_t i : feeders[w]) {
      lane_to[i][w] = static_cast<uint16_t>(segment(hop_segments_[i]).lanes());
      if (direct) continue;
      segment(sender).AddInlet(Connect(hop_segments_[i], last_stage_of(i), worker), false);
    }
    segment(sender).AddLane(
        Lane::ToTrunk(ways_out[w].outlet.get(), direct ? last_stage_of(first) : nullptr));
  }
  for (const auto& [i, lanes] : lane_to) {
    if (lanes.size() == 1) continue;
    segment(hop_segments_[i]).SetLaneGroups(LanesOfWays(way_of_row, ways_out.size(), lanes));
  }
}

std::vector<std::vector<int>> Assembly::TransmittersOfRows() {
  std::vector<std::vector<int>> of_row(network_.rows());
  for (const auto& port : ports_.host_ports()) {
    const std::vector<int> pollers = plan_.PollersOf(port->config(), plan_.last_stage);
    std::vector<int> workers;
    for (int q = 0; q < port->queue_pairs(); ++q) {
      const int worker = pollers[static_cast<size_t>(q)];
      // A worker transmits on the first of its queues.
      if (std::find(workers.begin(), workers.end(), worker) != workers.end()) continue;
      workers.push_back(worker);
      if (!egresses_[worker]) egresses_[worker] = MakeEgress(worker);
      egresses_[worker]->Attach(port->config().rows, &port->transmitter(q));
    }
    // A row's own worker sends the packets that come to the row, if it has a queue pair for them.
    const std::vector<int> own = plan_.QueuesOfRows(port->config(), plan_.last_stage);
    for (size_t i = 0; i < own.size(); ++i) {
      of_row[port->config().rows[i]] =
          own[i] < 0 ? workers : std::vector<int>{pollers[static_cast<size_t>(own[i])]};
    }
  }
  return of_row;
}

std::unique_ptr<Egress> Assembly::MakeEgress(int worker) const {
  const OnNode on(workers_[worker]->node());
  return std::make_unique<Egress>(network_.rows(), workers_.size() > 1);
}

// Packets end at the egress of the worker that transmits to the port of their row. Packets whose
// row has no such port end at the egress of the worker that has them. An egress is the lane of one
// segment: of the last hop's segment if no other segment leads there, otherwise of a segment
// without hops.
void Assembly::LeadToPorts() {
  transmitters_ = TransmittersOfRows();
  std::vector<std::set<size_t>> feeders(workers_.size());  // the segments that lead to each egress
  std::map<size_t, std::vector<bool>> heads;               // the rows to which a last segment leads
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    if (!IsLastHop(plan)) continue;
    std::vector<bool>& leads_to = heads[i];
    leads_to.resize(network_.rows());
    feeders[plan.worker].insert(i);
    for (Row row = plan.rows.first; row <= plan.rows.last; ++row) {
      for (int port = 0; port < network_.ports(); ++port) {
        const Row head = network_.next_row(plan_.last_stage, row, port);
        leads_to[head] = true;
        for (int worker : transmitters_[head]) feeders[worker].insert(i);
      }
    }
  }
  // For each egress: the lane of each segment.
  std::vector<std::map<size_t, uint16_t>> lane_from(workers_.size());
  const auto number = [&](size_t from, int worker) {
    lane_from[worker][from] = static_cast<uint16_t>(segment(hop_segments_[from]).lanes() - 1);
  };
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (feeders[w].empty()) continue;
    const int worker = static_cast<int>(w);
    if (!egresses_[w]) egresses_[w] = MakeEgress(worker);
    const size_t first = *feeders[w].begin();
    if (feeders[w].size() == 1 && plan_.segments[first].worker == worker) {
      segment(hop_segments_[first]).AddLane(Lane::ToEgress(egresses_[w].get()));
      number(first, worker);
      continue;
    }
    const size_t transmitter = NewSegment(worker, {});
    for (size_t i : feeders[w]) {
      segment(transmitter).AddInlet(Connect(hop_segments_[i], nullptr, worker), false);
      number(i, worker);
    }
    segment(transmitter).AddLane(Lane::ToEgress(egresses_[w].get()));
  }
  for (const auto& [i, leads_to] : heads) {
    if (segment(hop_segments_[i]).lanes() == 1) continue;
    std::vector<uint16_t> lane_to(workers_.size());  // the lane to each worker
    for (size_t w = 0; w < workers_.size(); ++w) {
      const auto lane = lane_from[w].find(i);
      if (lane != lane_from[w].end()) lane_to[w] = lane->second;
    }
    segment(hop_segments_[i])
        .SetLaneGroups(LanesOfRows(leads_to, transmitters_, lane_to, plan_.segments[i].worker));
  }
}

void Assembly::FuseStages() {
  for (size_t i = 0; i < plan_.segments.size(); ++i) {
    const SegmentPlan& plan = plan_.segments[i];
    Segment& hops = segment(hop_segments_[i]);
    const int fusible = hops.notes_links() ? plan.hops - 1 : plan.hops;
    for (const FusedPlan& run : PlanFused(network_, plan, fusible, MostFused(network_))) {
      const OnNode on(workers_[plan.worker]->node());
      hops.Fuse(static_cast<size_t>(run.first_hop - plan.first_hop),
                stages_.Fuse(network_.stage_of_hop(run.first_hop), run.hops, plan.rows.first));
    }
  }
}

void Assembly::ReadRings(std::vector<WorkerCounters>& workers) const {
  for (const auto& on_the_way : rings_) {
    NoteRing(on_the_way->ring, workers_[on_the_way->producer]->lcore(),
             workers[on_the_way->consumer].rings);
  }
}

void Assembly::Discard() {
  for (const auto& on_the_way : rings_) {
    Ledger& ledger = workers_[on_the_way->consumer]->stopped_account().ledger;
    Descriptor burst[kBurst];
    while (const uint32_t n = on_the_way->ring.Pop(burst, kBurst)) {
      for (uint32_t i = 0; i < n; ++i) rte_pktmbuf_free(burst[i].mbuf);
      ledger.taken_over += n;
      ledger.Drop(DropReason::kUnloaded, n);
    }
  }
  for (const OwnedSegment& owned : segments_) {
    Ledger& ledger = workers_[owned.worker]->stopped_account().ledger;
    ledger.Drop(DropReason::kUnloaded, owned.segment->Discard());
  }
  for (const auto& worker : workers_) {
    worker->stopped_account().ledger.Drop(DropReason::kUnloaded, worker->DiscardTimed());
    worker->stopped_account().ledger.held = 0;
    worker->PublishStopped();
  }
}

}  // namespace bfly::dataplane
