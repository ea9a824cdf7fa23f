// SPDX-License-Identifier: Apache-2.0
#include "control/top/sample.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/rates/cost_since.h"
#include "control/rates/counter_rates.h"
#include "control/top/line.h"
#include "control/top/link_rates.h"
#include "control/top/stages_text.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

bool SameFabric(const v1::FabricStatus& a, const v1::FabricStatus& b) {
  return a.loaded() && b.loaded() && a.name() == b.name() && a.kind() == b.kind() &&
         a.rows() == b.rows() && a.stages() == b.stages();
}

void AddLinks(const Answers& now, CounterRates& carried, Sample& sample) {
  const LinkRates rates(now.links, sample.stages);
  sample.has_rates = rates.any();
  for (const v1::LinkCounters& link : now.counters.links()) {
    if (link.stage() >= sample.stages || link.row() >= sample.rows || link.port() >= sample.ports ||
        !PlaceIn(sample.part.stages, link.stage()) || !PlaceIn(sample.part.rows, link.row()) ||
        !PlaceIn(sample.part.ports, link.port())) {
      continue;
    }
    const LinkRate grown = carried.Of(link);
    LinkSample added;
    added.stage = link.stage();
    added.row = link.row();
    added.port = link.port();
    added.next_row = link.next_row();
    added.packets = link.packets();
    added.bytes = link.bytes();
    added.dropped = PacketsIn(link.drops());
    added.packets_per_second = grown.packets;
    added.bits_per_second = 8 * grown.bytes;
    added.drops_per_second = grown.drops;
    added.rate = rates.Of(link.stage(), link.row(), link.port());
    if (added.rate > 0 && grown.is_known) {
      // The two counts may be read a little farther apart than the moments of the samples.
      added.utilisation = std::min(1.0, grown.busy);
    }
    added.queued = link.occupancy();
    added.peak = link.occupancy_peak();
    added.circuits = link.circuits();
    if (added.rate == 0) sample.busiest = std::max(sample.busiest, added.packets_per_second);
    sample.links.push_back(added);
  }
  std::sort(sample.links.begin(), sample.links.end(), [](const LinkSample& a, const LinkSample& b) {
    return std::tie(a.stage, a.row, a.port) < std::tie(b.stage, b.row, b.port);
  });
  for (LinkSample& link : sample.links) {
    if (link.rate > 0) {
      link.heat = static_cast<float>(link.utilisation.value_or(0));
    } else if (sample.busiest > 0) {
      link.heat = static_cast<float>(link.packets_per_second / sample.busiest);
    }
  }
}

void AddStages(Sample& sample) {
  std::vector<uint32_t> shown = sample.part.stages;
  for (uint32_t stage = 0; sample.part.stages.empty() && stage < sample.stages; ++stage)
    shown.push_back(stage);
  for (const uint32_t stage : shown) {
    sample.by_stage.emplace_back();
    sample.by_stage.back().stage = stage;
  }
  for (size_t i = 0; i < sample.links.size(); ++i) {
    const LinkSample& link = sample.links[i];
    StageSample& stage = sample.by_stage[*PlaceIn(sample.part.stages, link.stage)];
    stage.packets_per_second += link.packets_per_second;
    stage.bits_per_second += link.bits_per_second;
    stage.drops_per_second += link.drops_per_second;
    stage.packets += link.packets;
    stage.dropped += link.dropped;
    stage.queued += link.queued;
    stage.circuits = std::max(stage.circuits, link.circuits);
    const auto hotness = [](const LinkSample& one) {
      return std::make_tuple(one.heat, one.packets_per_second, one.packets);
    };
    if (!stage.hottest || hotness(link) > hotness(sample.links[*stage.hottest])) stage.hottest = i;
  }
}

// Numbers from `count` on.
void LeaveOut(uint32_t count, std::vector<uint32_t>& numbers) {
  std::erase_if(numbers, [count](uint32_t number) { return number >= count; });
}

std::string RangesOf(const google::protobuf::RepeatedField<uint32_t>& numbers) {
  std::vector<uint32_t> sorted(numbers.begin(), numbers.end());
  std::sort(sorted.begin(), sorted.end());
  return FormatRanges(sorted);
}

void AddWorkers(const Answers& now, const Answers* before, Sample& sample) {
  const double seconds = before == nullptr ? 0 : SecondsBetween(before->fabric_ns, now.fabric_ns);
  std::map<std::pair<std::string, uint32_t>, const v1::WorkerStatus*> then;
  if (before != nullptr) {
    for (const v1::DataPlaneStatus& plane : before->fabric.data_planes())
      for (const v1::WorkerStatus& worker : plane.workers())
        then[{plane.name(), worker.lcore()}] = &worker;
  }
  for (const v1::DataPlaneStatus& plane : now.fabric.data_planes()) {
    for (const v1::WorkerStatus& worker : plane.workers()) {
      const auto found = then.find({plane.name(), worker.lcore()});
      const v1::WorkerCost& cost = worker.cost();
      const v1::WorkerCost grown =
          found == then.end() ? cost : CostSince(found->second->cost(), cost);
      WorkerSample added;
      added.data_plane = Printable(plane.name());
      added.lcore = worker.lcore();
      added.stages = RangesOf(worker.stages());
      if (!worker.stages().empty())
        added.rows = worker.rows().empty() ? "all" : Printable(worker.rows());
      if (worker.placed_size() > 1) added.placed = StagesText(worker);
      added.cycles_per_hop = (grown.hops() > 0 ? grown : cost).cycles_per_hop();
      if (found != then.end() && seconds > 0) {
        added.frames_per_second = static_cast<double>(grown.frames()) / seconds;
        added.hops_per_second = static_cast<double>(grown.hops()) / seconds;
        if (cost.tsc_hz() > 0) {
          added.busy = std::min(1.0, static_cast<double>(grown.busy_cycles()) /
                                         static_cast<double>(cost.tsc_hz()) / seconds);
        }
        if (grown.polls() > 0) {
          added.empty_polls =
              static_cast<double>(grown.empty_polls()) / static_cast<double>(grown.polls());
        }
      }
      added.late = worker.lateness();
      for (const v1::RingOccupancy& ring : cost.rings()) {
        if (ring.peak() < added.ring_peak || ring.capacity() == 0) continue;
        added.ring = ring.packets();
        added.ring_peak = ring.peak();
        added.ring_capacity = ring.capacity();
      }
      const auto& stages = (grown.stages().empty() ? cost : grown).stages();
      added.costs.assign(stages.begin(), stages.end());
      sample.workers.push_back(std::move(added));
    }
  }
}

void AddPorts(const Answers& now, const CounterRates& rates, Sample& sample) {
  for (const v1::PortCounters& port : now.counters.ports()) {
    const PortRate grown = rates.Of(port);
    PortSample added;
    added.data_plane = Printable(port.data_plane());
    added.name = Printable(port.name());
    added.driver = Printable(port.driver());
    added.rx_per_second = grown.rx_packets;
    added.tx_per_second = grown.tx_packets;
    added.rx_bits = 8 * grown.rx_bytes;
    added.tx_bits = 8 * grown.tx_bytes;
    added.missed_per_second = grown.rx_missed;
    added.received = port.rx_packets();
    added.sent = port.tx_packets();
    added.missed = port.rx_missed();
    added.dropped = PacketsIn(port.drops());
    added.queue_pairs = static_cast<uint32_t>(std::max(1, port.queues_size()));
    sample.missed += added.missed_per_second;
    sample.host_ports.push_back(std::move(added));
  }
}

}  // namespace

std::optional<uint32_t> PlaceIn(const std::vector<uint32_t>& shown, uint32_t number) {
  if (shown.empty()) return number;
  const auto found = std::lower_bound(shown.begin(), shown.end(), number);
  if (found == shown.end() || *found != number) return std::nullopt;
  return static_cast<uint32_t>(found - shown.begin());
}

absl::StatusOr<Part> PartOf(const v1::FabricStatus& fabric, Part part) {
  for (const auto& [what, count, numbers] :
       {std::tuple("stages", fabric.stages(), &part.stages),
        std::tuple("rows", fabric.rows(), &part.rows),
        std::tuple("ports", std::max(1u, fabric.ports()), &part.ports)}) {
    if (numbers->empty()) continue;
    LeaveOut(count, *numbers);
    if (!numbers->empty()) continue;
    return absl::OutOfRangeError(absl::StrCat("the fabric has none of the ", what,
                                              " asked for; it has 0 to ", int64_t{count} - 1));
  }
  return part;
}

Sample MakeSample(const Answers& now, const Answers* before, const Part& part) {
  Sample sample;
  sample.loaded = now.fabric.loaded();
  if (!sample.loaded) return sample;
  if (before != nullptr && !SameFabric(now.fabric, before->fabric)) before = nullptr;
  sample.name = Printable(now.fabric.name());
  sample.kind = Printable(now.fabric.kind());
  sample.rows = now.fabric.rows();
  sample.stages = now.fabric.stages();
  sample.ports = std::max(1u, now.fabric.ports());
  sample.part = part;
  LeaveOut(sample.rows, sample.part.rows);
  LeaveOut(sample.stages, sample.part.stages);
  LeaveOut(sample.ports, sample.part.ports);
  sample.time_ns = now.counters.time_ns();
  sample.every_link = now.every_link;
  std::optional<Counts> then;
  if (before != nullptr) then = CountsOf(before->counters, before->every_link);
  CounterRates rates(now.counters, then ? &*then : nullptr);
  sample.seconds = rates.seconds();
  sample.account = now.counters.conservation();
  const AccountRate account = rates.account();
  sample.injected = account.injected;
  sample.delivered = account.delivered;
  sample.dropped = account.dropped;
  sample.drops.assign(now.counters.drops().begin(), now.counters.drops().end());
  AddLinks(now, rates, sample);
  AddStages(sample);
  AddWorkers(now, before, sample);
  AddPorts(now, rates, sample);
  sample.circuit_counts = now.counters.circuits();
  sample.circuits_total = now.circuits.total();
  sample.circuits.assign(now.circuits.circuits().begin(), now.circuits.circuits().end());
  sample.sources.assign(now.traffic.sources().begin(), now.traffic.sources().end());
  sample.latency = now.traffic.latency();
  for (const std::string& problem : now.counters.problems())
    sample.problems.push_back(Printable(problem));
  sample.traffic_known = now.traffic_problem.empty();
  if (!sample.traffic_known) {
    sample.problems.push_back(
        Printable(absl::StrCat("sources and latencies are missing: ", now.traffic_problem)));
  }
  return sample;
}

std::vector<float> HeatOf(const Sample& sample, uint32_t stage) {
  std::vector<float> heat(size_t{sample.shown_rows()} * sample.shown_ports());
  const auto begin =
      std::lower_bound(sample.links.begin(), sample.links.end(), stage,
                       [](const LinkSample& link, uint32_t wanted) { return link.stage < wanted; });
  for (auto link = begin; link != sample.links.end() && link->stage == stage; ++link) {
    const std::optional<uint32_t> row = PlaceIn(sample.part.rows, link->row);
    const std::optional<uint32_t> port = PlaceIn(sample.part.ports, link->port);
    if (row && port) heat[size_t{*row} * sample.shown_ports() + *port] = link->heat;
  }
  return heat;
}

}  // namespace bfly::control
