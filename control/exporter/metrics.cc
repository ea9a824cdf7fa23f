// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/metrics.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "control/exporter/drop_reasons.h"
#include "control/exporter/families.h"
#include "control/exporter/link_metrics.h"
#include "control/exporter/owners.h"
#include "control/exporter/worker_metrics.h"

namespace bfly::control {
namespace {

void AddScrape(const Scrape& scrape, MetricFamilies& families) {
  families.Gauge("bfly_up", "Whether bfly-controller answered the exporter in time.")
      .Set({}, scrape.up ? 1 : 0);
  families.Gauge("bfly_scrape_duration_seconds", "Time that the calls to bfly-controller took.")
      .Set({}, scrape.seconds);
}

void AddFabric(const Scrape& scrape, MetricFamilies& families) {
  const v1::FabricStatus& fabric = scrape.fabric;
  families.Gauge("bfly_fabric_loaded", "Whether a fabric is loaded.")
      .Set({}, fabric.loaded() ? 1 : 0);
  MetricSeries& planes = families.Gauge(
      "bfly_data_plane_up", "Whether the data plane is reached and runs what is loaded.");
  for (const v1::DataPlaneStatus& plane : fabric.data_planes()) {
    planes.Set({{"data_plane", plane.name()}},
               plane.state() == v1::DataPlaneStatus::RUNNING && !plane.out_of_step() ? 1 : 0);
  }
  MetricSeries& used =
      families.Gauge("bfly_resource_in_use", "What clients take of the controller's resources.");
  MetricSeries& limit =
      families.Gauge("bfly_resource_limit", "What clients may take of the controller's resources.");
  MetricSeries& refused = families.Counter("bfly_resource_refusals_total",
                                           "How often a client was refused a resource.");
  for (const v1::ResourceUse& resource : fabric.resources()) {
    const Labels labels = {{"resource", resource.name()}};
    used.Set(labels, static_cast<double>(resource.in_use()));
    limit.Set(labels, static_cast<double>(resource.limit()));
    refused.Set(labels, static_cast<double>(resource.refused()));
  }
  if (!fabric.loaded()) return;
  families.Gauge("bfly_fabric_info", "The loaded fabric; always 1.")
      .Set({{"name", fabric.name()},
            {"kind", fabric.kind()},
            {"rows", absl::StrCat(fabric.rows())},
            {"stages", absl::StrCat(fabric.stages())}},
           1);
  families.Gauge("bfly_links_down", "Links that were taken down by themselves.")
      .Set({}, static_cast<double>(fabric.faults().links()));
  families.Gauge("bfly_nodes_down", "Nodes that were taken down.")
      .Set({}, static_cast<double>(fabric.faults().nodes()));
  families.Gauge("bfly_pairs_unreachable", "Pairs of input and output without a path left.")
      .Set({}, static_cast<double>(fabric.faults().unreachable_pairs()));
}

// One series a reason, also of the `reasons` for which nothing was dropped.
void SetDrops(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops,
              std::initializer_list<std::span<const char* const>> reasons, const Labels& labels,
              MetricSeries& series) {
  std::map<std::string, uint64_t> packets;
  for (const auto& some : reasons) {
    for (const char* reason : some) packets[reason] = 0;
  }
  for (const v1::DropCount& drop : drops) packets[drop.reason()] = drop.packets();
  for (const auto& [reason, count] : packets) {
    Labels with_reason = labels;
    with_reason.emplace_back("reason", reason);
    series.Set(with_reason, static_cast<double>(count));
  }
}

void AddAccount(const v1::Counters& counters, MetricFamilies& families) {
  const v1::Conservation& account = counters.conservation();
  families.Counter("bfly_packets_injected_total", "Packets that entered the fabric.")
      .Set({}, static_cast<double>(account.injected()));
  families.Counter("bfly_packets_delivered_total", "Packets that left the fabric at an output.")
      .Set({}, static_cast<double>(account.delivered()));
  MetricSeries& dropped =
      families.Counter("bfly_packets_dropped_total", "Packets dropped inside the fabric.");
  SetDrops(counters.drops(), {kPortDropReasons, kInnerDropReasons}, {}, dropped);
  families.Gauge("bfly_packets_in_flight", "Packets that are inside the fabric.")
      .Set({}, static_cast<double>(account.in_flight()));
  families.Gauge("bfly_account_problems", "What does not add up, as Telemetry says.")
      .Set({}, counters.problems_size());

  const v1::CircuitCounters& circuits = counters.circuits();
  families.Gauge("bfly_circuits", "Circuits that stand.")
      .Set({}, static_cast<double>(circuits.standing()));
  families.Gauge("bfly_circuits_broken", "Standing circuits with a link that is down.")
      .Set({}, static_cast<double>(circuits.broken()));
  families.Counter("bfly_circuit_requests_total", "Requests for a circuit.")
      .Set({}, static_cast<double>(circuits.asked()));
  families
      .Counter("bfly_circuit_requests_blocked_total",
               "Requests refused because a link could not carry one more circuit.")
      .Set({}, static_cast<double>(circuits.blocked()));
}

void AddPorts(const v1::Counters& counters, MetricFamilies& families) {
  MetricSeries& rx = families.Counter("bfly_port_receive_packets_total", "Frames received.");
  MetricSeries& rx_bytes = families.Counter("bfly_port_receive_bytes_total", "Bytes received.");
  MetricSeries& tx = families.Counter("bfly_port_transmit_packets_total", "Frames sent.");
  MetricSeries& tx_bytes = families.Counter("bfly_port_transmit_bytes_total", "Bytes sent.");
  MetricSeries& missed =
      families.Counter("bfly_port_receive_missed_packets_total",
                       "Frames that the device dropped because no worker took them in time.");
  MetricSeries& dropped = families.Counter("bfly_port_dropped_packets_total",
                                           "Frames dropped at the port by the fabric.");
  for (const v1::PortCounters& port : counters.ports()) {
    const Labels labels = {{"data_plane", port.data_plane()}, {"port", port.name()}};
    rx.Set(labels, static_cast<double>(port.rx_packets()));
    rx_bytes.Set(labels, static_cast<double>(port.rx_bytes()));
    tx.Set(labels, static_cast<double>(port.tx_packets()));
    tx_bytes.Set(labels, static_cast<double>(port.tx_bytes()));
    missed.Set(labels, static_cast<double>(port.rx_missed()));
    SetDrops(port.drops(), {kPortDropReasons}, labels, dropped);
  }
}

void AddLatency(const v1::LatencyReport& latency, MetricFamilies& families) {
  MetricSeries& series = families.Summary(
      "bfly_latency_seconds", "Latency of delivered packets since its recording began.");
  const auto add = [&series](const char* part, const v1::LatencySummary& summary) {
    if (summary.count() == 0) return;
    series.SetSummary({{"part", part}}, summary.count(),
                      1e-9 * summary.mean() * static_cast<double>(summary.count()),
                      {{0.5, 1e-9 * summary.p50()},
                       {0.9, 1e-9 * summary.p90()},
                       {0.99, 1e-9 * summary.p99()},
                       {0.999, 1e-9 * summary.p999()},
                       {1, 1e-9 * summary.max()}});
  };
  add("end_to_end", latency.end_to_end());
  add("links", latency.links());
  add("late", latency.late());
}

}  // namespace

std::vector<prometheus::MetricFamily> FabricMetrics(const Scrape& scrape, uint32_t top) {
  MetricFamilies families;
  AddScrape(scrape, families);
  if (scrape.up) {
    AddFabric(scrape, families);
    if (scrape.fabric.loaded()) {
      AddAccount(scrape.counters, families);
      AddPorts(scrape.counters, families);
      AddWorkers(scrape.fabric, families);
      AddLatency(scrape.latency, families);
      const LinkOwners owners(scrape.fabric, scrape.counters);
      families
          .Gauge("bfly_stages_left_out",
                 "1 if the network has too many links to sum them up by stage.")
          .Set({}, scrape.every_link ? 0 : 1);
      if (scrape.every_link) AddStages(scrape.counters, owners, families);
      AddLinks(scrape.counters, owners, top, families);
    }
  }
  return families.Take();
}

std::vector<prometheus::MetricFamily> LinkMetrics(const Scrape& scrape, uint32_t most) {
  MetricFamilies families;
  AddScrape(scrape, families);
  if (scrape.up && scrape.fabric.loaded()) {
    const LinkOwners owners(scrape.fabric, scrape.counters);
    const uint64_t left_out = AddLinks(scrape.counters, owners, most, families);
    MetricSeries& series = families.Gauge(
        "bfly_links_left_out", "Links that carried packets or circuits and have no series here.");
    // The exporter asks for the fullest links only where a network has very many. If as many came
    // as are shown, the number of the others is not known.
    const bool is_known =
        scrape.every_link || static_cast<uint32_t>(scrape.counters.links_size()) < most;
    if (is_known) series.Set({}, static_cast<double>(left_out));
  }
  return families.Take();
}

}  // namespace bfly::control
