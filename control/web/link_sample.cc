// SPDX-License-Identifier: Apache-2.0
#include "control/web/link_sample.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

void Fill(const v1::LinkCounters& counted, CounterRates& rates, SampledLink& link) {
  link.packets = counted.packets();
  link.bytes = counted.bytes();
  link.drops = PacketsIn(counted.drops());
  link.occupancy = counted.occupancy();
  link.occupancy_peak = counted.occupancy_peak();
  link.circuits = counted.circuits();
  link.circuit_capacity = counted.circuit_capacity();
  const LinkRate rate = rates.Of(counted);
  link.rate_is_known = rate.is_known;
  link.packet_rate = rate.packets;
  link.byte_rate = rate.bytes;
  link.drop_rate = rate.drops;
}

bool IsInside(const Wiring& wiring, uint32_t stage, uint32_t row, uint32_t port) {
  return stage < wiring.stages && row < wiring.rows && port < wiring.ports;
}

auto PlaceOf(const SampledLink& link) { return std::tuple(link.stage, link.row, link.port); }

std::vector<SampledLink> EveryLink(const Wiring& wiring, const v1::Counters& counters,
                                   CounterRates& rates) {
  std::vector<SampledLink> links(wiring.links());
  size_t index = 0;
  for (uint32_t stage = 0; stage < wiring.stages; ++stage) {
    for (uint32_t row = 0; row < wiring.rows; ++row) {
      for (uint32_t port = 0; port < wiring.ports; ++port, ++index) {
        links[index].stage = stage;
        links[index].row = row;
        links[index].port = port;
        links[index].next_row = wiring.next_rows[index];
        // Links that were left out have carried nothing.
        links[index].rate_is_known = !counters.links_missing();
      }
    }
  }
  for (const v1::LinkCounters& counted : counters.links()) {
    if (!IsInside(wiring, counted.stage(), counted.row(), counted.port())) continue;
    Fill(counted, rates, links[wiring.index(counted.stage(), counted.row(), counted.port())]);
  }
  return links;
}

std::vector<SampledLink> CountedLinks(const Wiring& wiring, const v1::Counters& counters,
                                      CounterRates& rates) {
  std::vector<SampledLink> links;
  for (const v1::LinkCounters& counted : counters.links()) {
    if (!IsInside(wiring, counted.stage(), counted.row(), counted.port())) continue;
    SampledLink link{.stage = counted.stage(),
                     .row = counted.row(),
                     .port = counted.port(),
                     .next_row = counted.next_row()};
    Fill(counted, rates, link);
    links.push_back(link);
  }
  std::sort(links.begin(), links.end(),
            [](const SampledLink& a, const SampledLink& b) { return PlaceOf(a) < PlaceOf(b); });
  return links;
}

void MarkDown(const Wiring& wiring, const v1::GetLinksResponse& down,
              std::vector<SampledLink>& links) {
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> refs;
  for (const v1::LinkRef& ref : down.down()) refs.emplace_back(ref.stage(), ref.row(), ref.port());
  std::sort(refs.begin(), refs.end());
  std::vector<std::pair<uint32_t, uint32_t>> nodes;
  for (const v1::NodeRef& ref : down.down_nodes()) nodes.emplace_back(ref.level(), ref.row());
  std::sort(nodes.begin(), nodes.end());
  if (refs.empty() && nodes.empty()) return;
  const auto is_down = [&nodes](uint32_t level, uint32_t row) {
    return std::binary_search(nodes.begin(), nodes.end(), std::pair(level, row));
  };
  for (SampledLink& link : links) {
    link.down = std::binary_search(refs.begin(), refs.end(), PlaceOf(link)) ||
                is_down(link.stage, link.row) ||
                is_down((link.stage + 1) % wiring.levels, link.next_row);
  }
}

std::optional<std::vector<uint32_t>> DownByStage(const FabricSample& sample,
                                                 const v1::GetLinksResponse& down) {
  const Wiring& wiring = *sample.wiring;
  std::vector<uint32_t> stages(wiring.stages);
  if (sample.every_link()) {
    for (const SampledLink& link : sample.links) stages[link.stage] += link.down ? 1 : 0;
    return stages;
  }
  // Without the wiring nobody knows which links lead to a node.
  if (down.down_nodes_size() > 0) return std::nullopt;
  for (const v1::LinkRef& ref : down.down())
    if (IsInside(wiring, ref.stage(), ref.row(), ref.port())) ++stages[ref.stage()];
  return stages;
}

double FigureOf(const SampledLink& link, LinkFigure figure) {
  switch (figure) {
    case LinkFigure::kPacketRate:
      return link.packet_rate;
    case LinkFigure::kByteRate:
      return link.byte_rate;
    case LinkFigure::kPackets:
      return static_cast<double>(link.packets);
    case LinkFigure::kOccupancy:
      return link.occupancy;
    case LinkFigure::kCircuits:
      return link.congestion;
    case LinkFigure::kDrops:
      return static_cast<double>(link.drops);
  }
  return 0;
}

}  // namespace

bool StraightIsFree(const v1::DescribeResponse& description) {
  return description.kind() == KindName(NetworkKind::kHypercube);
}

absl::StatusOr<Wiring> WiringOf(const v1::DescribeResponse& description, uint64_t most_links) {
  Wiring wiring{.rows = description.rows(),
                .stages = description.stages(),
                .ports = 2 * std::max(1u, description.multiplicity()),
                .levels = std::max(1u, description.levels()),
                .straight_is_free = StraightIsFree(description),
                .next_rows = {}};
  if (wiring.links() > most_links) return wiring;
  wiring.next_rows.resize(wiring.links());
  for (const v1::LinkEnds& link : description.links()) {
    if (!IsInside(wiring, link.stage(), link.row(), link.port()) ||
        link.next_row() >= wiring.rows) {
      return absl::InternalError(absl::StrCat("the link ", link.stage(), ".", link.row(), ".",
                                              link.port(), " is outside the network"));
    }
    wiring.next_rows[wiring.index(link.stage(), link.row(), link.port())] = link.next_row();
  }
  return wiring;
}

FabricSample SampleOf(std::shared_ptr<const Wiring> wiring, const v1::Counters& counters,
                      const v1::GetLinksResponse& down, const Counts* before) {
  FabricSample sample;
  sample.wiring = std::move(wiring);
  CounterRates rates(counters, before);
  sample.links = sample.every_link() ? EveryLink(*sample.wiring, counters, rates)
                                     : CountedLinks(*sample.wiring, counters, rates);
  for (SampledLink& link : sample.links) {
    const bool is_free = sample.wiring->straight_is_free && link.next_row == link.row;
    link.congestion = is_free ? 0 : link.circuits;
  }
  MarkDown(*sample.wiring, down, sample.links);
  sample.down = DownByStage(sample, down);
  return sample;
}

std::vector<BandLink> Bands(const FabricSample& sample, uint32_t bands) {
  const Wiring& wiring = *sample.wiring;
  const auto band_of = [&](uint32_t row) {
    return static_cast<uint32_t>(uint64_t{row} * bands / wiring.rows);
  };
  std::vector<BandLink> all(size_t{wiring.stages} * bands * bands);
  for (const SampledLink& link : sample.links) {
    const uint32_t from = band_of(link.row), to = band_of(link.next_row);
    BandLink& band = all[(size_t{link.stage} * bands + from) * bands + to];
    band.stage = link.stage;
    band.from = from;
    band.to = to;
    ++band.links;
    band.down += link.down ? 1 : 0;
    band.packets += link.packets;
    band.drops += link.drops;
    band.packet_rate += link.packet_rate;
    band.byte_rate += link.byte_rate;
    band.drop_rate += link.drop_rate;
    band.occupancy += link.occupancy;
    band.circuits += link.circuits;
    band.most_packet_rate = std::max(band.most_packet_rate, link.packet_rate);
    band.most_byte_rate = std::max(band.most_byte_rate, link.byte_rate);
    band.most_occupancy = std::max(band.most_occupancy, link.occupancy);
    band.most_circuits = std::max(band.most_circuits, link.congestion);
    band.most_drops = std::max(band.most_drops, link.drops);
  }
  std::erase_if(all, [](const BandLink& band) { return band.links == 0; });
  return all;
}

std::vector<StageLoad> StageLoads(const FabricSample& sample) {
  std::vector<StageLoad> stages(sample.wiring->stages);
  for (const SampledLink& link : sample.links) {
    StageLoad& stage = stages[link.stage];
    stage.packets += link.packets;
    stage.drops += link.drops;
    stage.packet_rate += link.packet_rate;
    stage.drop_rate += link.drop_rate;
    stage.occupancy += link.occupancy;
    stage.circuits += link.circuits;
  }
  for (size_t stage = 0; sample.down && stage < stages.size(); ++stage)
    stages[stage].down = (*sample.down)[stage];
  return stages;
}

std::vector<SampledLink> Hottest(const FabricSample& sample, LinkFigure by, size_t count) {
  std::vector<std::pair<double, const SampledLink*>> links;
  for (const SampledLink& link : sample.links) {
    if (const double figure = FigureOf(link, by); figure > 0) links.emplace_back(-figure, &link);
  }
  // Links stand in the order of places, so the pointer breaks ties as promised.
  count = std::min(count, links.size());
  std::partial_sort(links.begin(), links.begin() + static_cast<ptrdiff_t>(count), links.end());
  std::vector<SampledLink> hottest;
  for (size_t i = 0; i < count; ++i) hottest.push_back(*links[i].second);
  return hottest;
}

std::vector<SampledLink> LinksIn(const FabricSample& sample, const RowWindow& window) {
  const auto is_inside = [&window](uint32_t row) {
    return window.first_row <= row && row <= window.last_row;
  };
  std::vector<SampledLink> links;
  for (const SampledLink& link : sample.links) {
    if (link.stage < window.first_stage || link.stage > window.last_stage) continue;
    if (is_inside(link.row) || is_inside(link.next_row)) links.push_back(link);
  }
  return links;
}

}  // namespace bfly::control
