// SPDX-License-Identifier: Apache-2.0
#include "control/agent/counters.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

template <class AddTo>
void ForEachDrop(const dataplane::DropCounts& drops, AddTo add) {
  for (int reason = 0; reason < dataplane::kDropReasons; ++reason) {
    if (drops[reason] == 0) continue;
    add(dataplane::DropReasonName(static_cast<dataplane::DropReason>(reason)), drops[reason]);
  }
}

void FillDrops(const dataplane::DropCounts& drops,
               google::protobuf::RepeatedPtrField<v1::DropCount>* out) {
  ForEachDrop(drops, [out](const char* reason, uint64_t packets) {
    v1::DropCount* drop = out->Add();
    drop->set_reason(reason);
    drop->set_packets(packets);
  });
}

// Columns is AgentCounters or AgentLinkReading. `counters_of(i)` is the link of entry i.
template <class Columns, class CountersOf>
void FillColumns(int count, CountersOf counters_of, Columns* columns) {
  columns->mutable_packets()->Reserve(count);
  columns->mutable_bytes()->Reserve(count);
  columns->mutable_occupancy()->Reserve(count);
  columns->mutable_occupancy_peak()->Reserve(count);
  bool ever_busy = false;
  for (int i = 0; i < count && !ever_busy; ++i) ever_busy = counters_of(i).busy_ns != 0;
  for (int i = 0; i < count; ++i) {
    const dataplane::LinkCounters& link = counters_of(i);
    if (ever_busy) columns->add_busy_ns(link.busy_ns);
    columns->add_packets(link.packets);
    columns->add_bytes(link.bytes);
    columns->add_occupancy(link.occupancy);
    columns->add_occupancy_peak(link.occupancy_peak);
    ForEachDrop(link.drops, [&](const char* reason, uint64_t packets) {
      v1::AgentLinkDrop* drop = columns->add_link_drops();
      drop->set_link(i);
      drop->set_reason(reason);
      drop->set_packets(packets);
    });
  }
}

// The rows of the blocks as ranges, "0-7,12"; empty: all rows, or no blocks.
std::string JoinedRows(std::vector<dataplane::RowRange> blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<dataplane::RowRange> joined;
  for (const dataplane::RowRange& block : blocks) {
    if (!joined.empty() && block.first <= uint64_t{joined.back().last} + 1) {
      joined.back().last = std::max(joined.back().last, block.last);
    } else {
      joined.push_back(block);
    }
  }
  std::string text;
  for (const dataplane::RowRange& rows : joined) {
    if (rows == dataplane::RowRange()) continue;
    absl::StrAppend(&text, text.empty() ? "" : ",", rows.first);
    if (rows.last > rows.first) absl::StrAppend(&text, "-", rows.last);
  }
  return text;
}

// The stages that a worker runs, and which rows it runs of them.
void FillPlaced(const std::vector<dataplane::StagePlacement>& placement, int lcore,
                v1::WorkerStatus* worker) {
  std::map<uint32_t, std::vector<dataplane::RowRange>> of_stage;
  std::vector<dataplane::RowRange> of_any;
  for (const dataplane::StagePlacement& p : placement) {
    if (p.lcore != lcore) continue;
    of_any.push_back(p.rows);
    for (int stage = p.first_stage; stage <= p.last_stage; ++stage)
      of_stage[static_cast<uint32_t>(stage)].push_back(p.rows);
  }
  worker->set_rows(JoinedRows(of_any));
  // The stages with the same rows, in the order of the first of them.
  std::vector<std::pair<std::string, std::vector<uint32_t>>> groups;
  for (const auto& [stage, blocks] : of_stage) {
    worker->add_stages(stage);
    const std::string rows = JoinedRows(blocks);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&rows](const auto& other) { return other.first == rows; });
    if (group == groups.end()) group = groups.insert(group, {rows, {}});
    group->second.push_back(stage);
  }
  for (const auto& [rows, stages] : groups) {
    v1::PlacedStages* placed = worker->add_placed();
    placed->set_stages(FormatRanges(stages));
    placed->set_rows(rows);
  }
}

double Quotient(uint64_t cycles, uint64_t by) {
  return by == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(by);
}

void FillCost(const dataplane::WorkerCounters& worker, uint64_t tsc_hz, v1::WorkerCost* cost) {
  cost->set_busy_cycles(worker.busy.cycles);
  cost->set_tsc_hz(tsc_hz);
  cost->set_frames(worker.polls.packets);
  cost->set_hops(worker.busy.hops);
  cost->set_cycles_per_frame(Quotient(worker.busy.cycles, worker.polls.packets));
  cost->set_cycles_per_hop(Quotient(worker.busy.cycles, worker.busy.hops));
  cost->set_polls(worker.polls.polls());
  cost->set_empty_polls(worker.polls.empty());
  for (size_t size = 1; size < worker.polls.by_size.size(); ++size) {
    cost->add_bursts(worker.polls.by_size[size]);
  }
  for (const dataplane::StageCost& stage : worker.stages) {
    v1::StageCost* out = cost->add_stages();
    out->set_first_stage(static_cast<uint32_t>(stage.first_stage));
    out->set_stages(static_cast<uint32_t>(stage.stages));
    out->set_sampled_hops(stage.sampled.hops);
    out->set_sampled_cycles(stage.sampled.cycles);
    out->set_cycles_per_hop(Quotient(stage.sampled.cycles, stage.sampled.hops));
  }
  for (const dataplane::RingOccupancy& ring : worker.rings) {
    v1::RingOccupancy* out = cost->add_rings();
    out->set_from_lcore(static_cast<uint32_t>(ring.from_lcore));
    out->set_packets(ring.waiting);
    out->set_peak(ring.peak);
    out->set_capacity(ring.capacity);
  }
}

void FillPort(const dataplane::PortCounters& port, v1::PortCounters* out) {
  out->set_name(port.name);
  out->set_driver(port.driver);
  out->set_rx_packets(port.rx_packets);
  out->set_rx_bytes(port.rx_bytes);
  out->set_tx_packets(port.tx_packets);
  out->set_tx_bytes(port.tx_bytes);
  out->set_rx_missed(port.rx_missed);
  FillDrops(port.drops, out->mutable_drops());
  for (const dataplane::QueueCounters& queue : port.queues) {
    v1::QueueCounters* counts = out->add_queues();
    counts->set_rx_packets(queue.rx_packets);
    counts->set_tx_packets(queue.tx_packets);
  }
  for (const auto& row : port.xdp.rows) {
    v1::XdpRowCount* count = out->add_xdp_rows();
    count->set_row(row.row);
    count->set_packets(row.packets);
  }
  for (const auto& action : port.xdp.actions) {
    v1::DropCount* count = out->add_xdp_actions();
    count->set_reason(action.name);
    count->set_packets(action.packets);
  }
}

}  // namespace

void FillCounters(const dataplane::Snapshot& snapshot,
                  const std::vector<dataplane::StagePlacement>& placement, bool links,
                  v1::AgentCounters* counters) {
  counters->set_first_stage(snapshot.first_stage);
  counters->set_last_stage(snapshot.last_stage);
  if (links) {
    FillColumns(
        static_cast<int>(snapshot.links.size()),
        [&](int i) -> const dataplane::LinkCounters& { return snapshot.links[i]; }, counters);
  }
  for (const dataplane::PortCounters& port : snapshot.ports) FillPort(port, counters->add_ports());
  v1::PortCounters removed;
  FillPort(snapshot.removed_ports, &removed);
  if (removed.ByteSizeLong() != 0) *counters->mutable_removed_ports() = std::move(removed);
  v1::Conservation* conservation = counters->mutable_conservation();
  conservation->set_injected(snapshot.conservation.injected);
  conservation->set_delivered(snapshot.conservation.delivered);
  conservation->set_dropped(snapshot.conservation.dropped);
  conservation->set_in_flight(snapshot.conservation.in_flight);
  counters->set_trunk_in(snapshot.trunk_in);
  counters->set_trunk_out(snapshot.trunk_out);
  FillDrops(snapshot.drops, counters->mutable_drops());
  for (const dataplane::WorkerCounters& worker : snapshot.workers) {
    v1::WorkerStatus* out = counters->add_workers();
    out->set_lcore(worker.lcore);
    out->set_passes(worker.passes);
    out->set_idle_passes(worker.idle_passes);
    if (worker.lateness.packets > 0) {
      v1::Lateness* late = out->mutable_lateness();
      late->set_packets(worker.lateness.packets);
      late->set_mean_us(worker.lateness.mean_ns / 1e3);
      late->set_p99_us(worker.lateness.p99_ns / 1e3);
      late->set_max_us(worker.lateness.max_ns / 1e3);
    }
    FillPlaced(placement, worker.lcore, out);
    FillCost(worker, snapshot.tsc_hz, out->mutable_cost());
  }
}

namespace {

// A larger answer must be asked for in pieces.
constexpr uint32_t kMostListed = 262'145;
constexpr uint32_t kMostTop = 65'536;

std::vector<NumberRange> ToRanges(
    const google::protobuf::RepeatedPtrField<v1::NumberRange>& ranges) {
  std::vector<NumberRange> out;
  for (const v1::NumberRange& range : ranges) out.push_back({range.first(), range.last()});
  return out;
}

dataplane::LinkFigure ToFigure(v1::CounterFilter::Figure figure) {
  switch (figure) {
    case v1::CounterFilter::BYTES:
      return dataplane::LinkFigure::kBytes;
    case v1::CounterFilter::OCCUPANCY:
      return dataplane::LinkFigure::kOccupancy;
    case v1::CounterFilter::OCCUPANCY_PEAK:
      return dataplane::LinkFigure::kOccupancyPeak;
    case v1::CounterFilter::DROPS:
      return dataplane::LinkFigure::kDrops;
    case v1::CounterFilter::BUSY:
      return dataplane::LinkFigure::kBusy;
    default:
      return dataplane::LinkFigure::kPackets;
  }
}

}  // namespace

void FillPortStatus(const dataplane::PortStatus& port, v1::PortStatus* out) {
  out->set_name(port.name);
  out->set_queue_pairs(static_cast<uint32_t>(port.queue_pairs));
  for (int lcore : port.lcores) out->add_lcores(static_cast<uint32_t>(lcore));
  out->set_rows_handed_over(static_cast<uint32_t>(port.rows_handed_over));
  switch (port.steering) {
    case dataplane::Steering::kNone:
      return out->set_steering(v1::PortStatus::STEERING_UNSPECIFIED);
    case dataplane::Steering::kFlowRules:
      return out->set_steering(v1::PortStatus::FLOW_RULES);
    case dataplane::Steering::kRss:
      return out->set_steering(v1::PortStatus::RSS);
    case dataplane::Steering::kSoftware:
      return out->set_steering(v1::PortStatus::SOFTWARE);
    case dataplane::Steering::kSender:
      return out->set_steering(v1::PortStatus::SENDER);
  }
}

absl::StatusOr<dataplane::LinkQuery> ToLinkQuery(const v1::AgentReadLinksRequest& request) {
  FieldErrors errors;
  if (request.top() == 0 && (request.most() == 0 || request.most() > kMostListed)) {
    errors.Add(OutOfRange("most", request.most(), 1, kMostListed));
  }
  if (request.top() > kMostTop) errors.Add(OutOfRange("top", request.top(), 0, kMostTop));
  if (!v1::CounterFilter::Figure_IsValid(request.by())) {
    errors.Add("by", absl::StrCat(static_cast<int>(request.by()), " is unknown"));
  }
  if (static_cast<uint32_t>(request.also_size()) > kMostTop) {
    errors.Add("also", absl::StrCat("has ", request.also_size(), " links, at most ", kMostTop,
                                    " are allowed"));
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  return dataplane::LinkQuery{
      .begin = request.begin(),
      .end = request.end() == 0 ? dataplane::LinkQuery::kToTheEnd : request.end(),
      .ranges = {.stages = ToRanges(request.stages()),
                 .rows = ToRanges(request.rows()),
                 .ports = ToRanges(request.ports())},
      .used = request.used(),
      .most = request.top() == 0 ? request.most() : 0,
      .top = request.top(),
      .by = ToFigure(request.by()),
      .among = {request.among().begin(), request.among().end()},
      .also = {request.also().begin(), request.also().end()},
  };
}

void FillReading(const dataplane::LinkReading& reading, v1::AgentLinkReading* out) {
  for (const auto& link : reading.links) out->add_links(link.index);
  FillColumns(
      static_cast<int>(reading.links.size()),
      [&](int i) -> const dataplane::LinkCounters& { return reading.links[i].counters; }, out);
  out->set_end(reading.end);
}

namespace {

void FillSummary(const dataplane::LatencySummary& from, v1::LatencySummary* to) {
  to->set_count(from.count);
  to->set_mean(from.mean);
  to->set_p50(from.p50);
  to->set_p90(from.p90);
  to->set_p99(from.p99);
  to->set_p999(from.p999);
  to->set_max(from.max);
}

}  // namespace

void FillTraffic(const std::vector<dataplane::SourceCounters>& sources,
                 const dataplane::LatencyReport& latency, bool histogram,
                 v1::AgentTrafficState* state) {
  for (const dataplane::SourceCounters& source : sources) {
    v1::AgentSourceCounters* out = state->add_sources();
    out->set_id(source.id);
    out->set_packets(source.packets);
    out->set_bytes(source.bytes);
    out->set_no_circuit(source.no_circuit);
    out->set_seconds(source.seconds);
    out->set_finished(source.finished);
  }
  v1::LatencyReport* report = state->mutable_latency();
  report->set_recording(latency.recording);
  FillSummary(latency.end_to_end, report->mutable_end_to_end());
  if (histogram) {
    for (const dataplane::LatencyBucket& from : latency.histogram) {
      v1::LatencyBucket* bucket = report->add_histogram();
      bucket->set_up_to(from.up_to);
      bucket->set_packets(from.count);
    }
  }
  FillSummary(latency.links, report->mutable_links());
  FillSummary(latency.late, report->mutable_late());
  for (size_t s = 0; s < latency.stages.size(); ++s) {
    if (latency.stages[s].count == 0) continue;
    v1::StageLatency* stage = report->add_stages();
    stage->set_stage(static_cast<uint32_t>(latency.first_stage) + static_cast<uint32_t>(s));
    FillSummary(latency.stages[s], stage->mutable_latency());
  }
}

}  // namespace bfly::control
