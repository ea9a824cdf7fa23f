// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/link_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

uint64_t Dropped(const v1::LinkCounters& link) {
  uint64_t sum = 0;
  for (const v1::DropCount& drop : link.drops()) sum += drop.packets();
  return sum;
}

// The series that links and stages both have.
struct LinkSeries {
  // `of` and `on` name the links: "by the link", "on the link".
  LinkSeries(const std::string& prefix, const std::string& of, const std::string& on,
             MetricFamilies& families)
      : packets(families.Counter(prefix + "_packets_total", "Packets sent " + of + ".")),
        bytes(families.Counter(prefix + "_bytes_total", "Bytes sent " + of + ".")),
        dropped(families.Counter(prefix + "_dropped_packets_total", "Packets dropped " + of + ".")),
        busy(families.Counter(prefix + "_busy_seconds_total",
                              "Time spent sending " + of + ", where links have a rate.")),
        queued(families.Gauge(prefix + "_queued_packets",
                              "Packets " + on + " (waiting, being sent or on the wire).")),
        peak(families.Gauge(prefix + "_queue_peak_packets",
                            "The most packets that ever were on one link.")),
        circuits(families.Gauge(prefix + "_circuits", "Circuits on the fullest link.")) {}

  MetricSeries &packets, &bytes, &dropped, &busy, &queued, &peak, &circuits;
};

struct Sums {
  double packets = 0, bytes = 0, dropped = 0, busy = 0, queued = 0;
  uint32_t peak = 0, circuits = 0;

  void Add(const v1::LinkCounters& link) {
    packets += static_cast<double>(link.packets());
    bytes += static_cast<double>(link.bytes());
    dropped += static_cast<double>(Dropped(link));
    busy += 1e-9 * static_cast<double>(link.busy_ns());
    queued += link.occupancy();
    peak = std::max(peak, link.occupancy_peak());
    circuits = std::max(circuits, link.circuits());
  }
  void Set(const Labels& labels, LinkSeries& series) const {
    series.packets.Set(labels, packets);
    series.bytes.Set(labels, bytes);
    series.dropped.Set(labels, dropped);
    series.busy.Set(labels, busy);
    series.queued.Set(labels, queued);
    series.peak.Set(labels, peak);
    series.circuits.Set(labels, circuits);
  }
};

}  // namespace

void AddStages(const v1::Counters& counters, const LinkOwners& owners, MetricFamilies& families) {
  std::map<std::pair<uint32_t, std::string>, Sums> stages = owners.EveryStage<Sums>();
  for (const v1::LinkCounters& link : counters.links()) {
    const std::string* const owner = owners.Of(link.stage(), link.row());
    if (owner != nullptr) stages[{link.stage(), *owner}].Add(link);
  }
  LinkSeries series("bfly_stage", "by the links of the stage", "on the links of the stage",
                    families);
  for (const auto& [stage, sums] : stages)
    sums.Set({{"stage", absl::StrCat(stage.first)}, {"data_plane", stage.second}}, series);
}

uint64_t AddLinks(const v1::Counters& counters, const LinkOwners& owners, uint32_t most,
                  MetricFamilies& families) {
  std::vector<const v1::LinkCounters*> links;
  for (const v1::LinkCounters& link : counters.links()) {
    if (owners.Of(link.stage(), link.row()) != nullptr) links.push_back(&link);
  }
  const size_t shown = std::min<size_t>(most, links.size());
  const auto key = [](const v1::LinkCounters* link) {
    return std::make_tuple(~link->circuits(), ~link->packets(), link->stage(), link->row(),
                           link->port());
  };
  std::partial_sort(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(shown), links.end(),
                    [&key](const auto* a, const auto* b) { return key(a) < key(b); });
  LinkSeries series("bfly_link", "by the link", "on the link", families);
  for (size_t i = 0; i < shown; ++i) {
    Sums link;
    link.Add(*links[i]);
    link.Set({{"stage", absl::StrCat(links[i]->stage())},
              {"row", absl::StrCat(links[i]->row())},
              {"port", absl::StrCat(links[i]->port())},
              {"data_plane", *owners.Of(links[i]->stage(), links[i]->row())}},
             series);
  }
  return links.size() - shown;
}

}  // namespace bfly::control
