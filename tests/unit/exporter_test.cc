// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <tuple>

#include "control/exporter/drop_reasons.h"
#include "control/exporter/metrics.h"
#include "control/exporter/steady_counts.h"
#include "dataplane/core/ledger.h"

namespace bfly::control {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

// A scrape of 8 rows and 2 stages: dp0 runs stage 0, dp1 stage 1.
Scrape Loaded() {
  Scrape scrape;
  scrape.up = true;
  scrape.fabric.set_loaded(true);
  scrape.fabric.set_rows(8);
  scrape.fabric.set_stages(2);
  for (uint32_t i = 0; i < 2; ++i) {
    v1::DataPlaneStatus& plane = *scrape.fabric.add_data_planes();
    plane.set_name("dp" + std::to_string(i));
    plane.set_state(v1::DataPlaneStatus::RUNNING);
    v1::WorkerStatus& worker = *plane.add_workers();
    worker.set_lcore(i);
    worker.add_stages(i);
    worker.mutable_cost()->set_busy_cycles(6'000'000'000);
    worker.mutable_cost()->set_tsc_hz(2'000'000'000);
  }
  return scrape;
}

void AddLink(Scrape& scrape, uint32_t stage, uint32_t row, uint64_t packets,
             uint32_t circuits = 0) {
  v1::LinkCounters& link = *scrape.counters.add_links();
  link.set_stage(stage);
  link.set_row(row);
  link.set_packets(packets);
  link.set_busy_ns(500'000'000 * packets);
  link.set_circuits(circuits);
}

const MetricFamily* Find(const std::vector<MetricFamily>& families, const std::string& name) {
  for (const MetricFamily& family : families)
    if (family.name == name) return &family;
  return nullptr;
}

// The value of the one series whose labels include these; fails if there is none or several.
double Value(const std::vector<MetricFamily>& families, const std::string& name,
             const std::vector<ClientMetric::Label>& labels = {}) {
  const MetricFamily* const family = Find(families, name);
  if (family == nullptr) {
    ADD_FAILURE() << "no metric " << name;
    return -1;
  }
  std::vector<double> found;
  for (const ClientMetric& metric : family->metric) {
    bool fits = true;
    for (const ClientMetric::Label& label : labels)
      fits = fits && testing::Value(metric.label, testing::Contains(label));
    if (!fits) continue;
    found.push_back(family->type == prometheus::MetricType::Counter ? metric.counter.value
                                                                    : metric.gauge.value);
  }
  EXPECT_EQ(found.size(), 1u) << name;
  return found.empty() ? -1 : found[0];
}

size_t SeriesOf(const std::vector<MetricFamily>& families, const std::string& name) {
  const MetricFamily* const family = Find(families, name);
  return family == nullptr ? 0 : family->metric.size();
}

TEST(FabricMetrics, OfASilentControllerAreThatItIsSilent) {
  Scrape scrape;
  scrape.seconds = 5;
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(families.size(), 2u);
  EXPECT_EQ(Value(families, "bfly_up"), 0);
  EXPECT_EQ(Value(families, "bfly_scrape_duration_seconds"), 5);
}

TEST(FabricMetrics, WithoutAFabricHaveNoCounters) {
  Scrape scrape;
  scrape.up = true;
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_up"), 1);
  EXPECT_EQ(Value(families, "bfly_fabric_loaded"), 0);
  for (const MetricFamily& family : families)
    EXPECT_NE(family.type, prometheus::MetricType::Counter) << family.name;
}

TEST(FabricMetrics, SumUpAStageOverItsLinks) {
  Scrape scrape = Loaded();
  AddLink(scrape, 0, 0, 10, 2);
  AddLink(scrape, 0, 7, 30, 1);
  AddLink(scrape, 1, 3, 5);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "0"}}), 40);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "1"}, {"data_plane", "dp1"}}),
            5);
  EXPECT_EQ(Value(families, "bfly_stage_busy_seconds_total", {{"stage", "0"}}), 20);
  EXPECT_EQ(Value(families, "bfly_stage_circuits", {{"stage", "0"}}), 2);
}

TEST(FabricMetrics, AStageThatCarriedNothingIsThereFromTheStart) {
  // Prometheus cannot tell the first increase of a series that begins above 0.
  const std::vector<MetricFamily> families = FabricMetrics(Loaded(), 10);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "0"}}), 0);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "1"}}), 0);
}

TEST(FabricMetrics, ReasonsForWhichNothingWasDroppedAreThereFromTheStart) {
  Scrape scrape = Loaded();
  scrape.counters.add_ports()->set_name("p0");
  std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_packets_dropped_total", {{"reason", "queue_full"}}), 0);
  EXPECT_EQ(Value(families, "bfly_port_dropped_packets_total", {{"reason", "port_full"}}), 0);
  v1::DropCount& drop = *scrape.counters.add_drops();
  drop.set_reason("queue_full");
  drop.set_packets(5'000);
  *scrape.counters.mutable_ports(0)->add_drops() = drop;
  families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_packets_dropped_total", {{"reason", "queue_full"}}), 5'000);
  EXPECT_EQ(Value(families, "bfly_port_dropped_packets_total", {{"reason", "queue_full"}}), 5'000);
}

// data_plane_lost is the controller's own.
TEST(DropReasons, AreThoseOfTheDataPlane) {
  std::set<std::string> known(std::begin(kPortDropReasons), std::end(kPortDropReasons));
  known.insert(std::begin(kInnerDropReasons), std::end(kInnerDropReasons));
  std::set<std::string> wanted = {"data_plane_lost"};
  for (int reason = 0; reason < dataplane::kDropReasons; ++reason)
    wanted.insert(dataplane::DropReasonName(static_cast<dataplane::DropReason>(reason)));
  EXPECT_EQ(known, wanted);
  EXPECT_EQ(std::size(kPortDropReasons) + std::size(kInnerDropReasons), known.size());
}

TEST(KeepFromFalling, TheTimeOfSendingFallsOnlyWithThePackets) {
  Scrape before = Loaded(), now = Loaded();
  for (const uint32_t row : {6u, 7u, 3u, 0u}) {  // in any order
    AddLink(before, 0, row, 10);
    before.counters.mutable_links()->rbegin()->set_busy_ns(1'000'000'000);
  }
  for (const auto& [row, packets, busy_ns] :
       {std::tuple(0u, 10u, 990'000'000u), std::tuple(3u, 9u, 900'000'000u),
        std::tuple(5u, 1u, 100'000'000u), std::tuple(7u, 11u, 1'100'000'000u),
        std::tuple(6u, 11u, 1'200'000u)}) {
    AddLink(now, 0, row, packets);
    now.counters.mutable_links()->rbegin()->set_busy_ns(busy_ns);
  }
  Scrape other = now;
  other.fabric.set_name("another");
  KeepFromFalling(before, now);
  const auto busy = [](const Scrape& scrape, const char* row) {
    return Value(FabricMetrics(scrape, 10), "bfly_link_busy_seconds_total", {{"row", row}});
  };
  EXPECT_DOUBLE_EQ(busy(now, "0"), 1.0);
  EXPECT_DOUBLE_EQ(busy(now, "3"), 0.9);  // its data plane began anew
  EXPECT_DOUBLE_EQ(busy(now, "5"), 0.1);
  EXPECT_DOUBLE_EQ(busy(now, "7"), 1.1);
  EXPECT_DOUBLE_EQ(busy(now, "6"), 0.0012);  // so did its, and it is faster now
  EXPECT_DOUBLE_EQ(Value(FabricMetrics(now, 10), "bfly_stage_busy_seconds_total", {{"stage", "0"}}),
                   3.1012);
  KeepFromFalling(before, other);
  EXPECT_DOUBLE_EQ(busy(other, "0"), 0.99);
}

TEST(FabricMetrics, ADataPlaneThatIsAwayHasNoCountersRatherThanZeros) {
  Scrape scrape = Loaded();
  AddLink(scrape, 0, 0, 10);
  AddLink(scrape, 1, 3, 0, 1);  // Telemetry shows 0 packets for links of dp1 meanwhile
  scrape.fabric.mutable_data_planes(1)->set_state(v1::DataPlaneStatus::UNREACHABLE);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_data_plane_up", {{"data_plane", "dp1"}}), 0);
  EXPECT_EQ(SeriesOf(families, "bfly_stage_packets_total"), 1u);
  EXPECT_EQ(SeriesOf(families, "bfly_link_packets_total"), 1u);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total"), 10);
}

TEST(FabricMetrics, ADataPlaneThatWasLostAMomentAgoHasNoZerosEither) {
  Scrape scrape = Loaded();
  AddLink(scrape, 0, 0, 10);
  AddLink(scrape, 1, 3, 0, 1);
  for (uint32_t i = 0; i < 2; ++i)
    scrape.fabric.mutable_data_planes(i)->mutable_workers(0)->mutable_cost()->set_hops(10);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(SeriesOf(families, "bfly_stage_packets_total"), 1u);
  EXPECT_EQ(Value(families, "bfly_link_packets_total"), 10);
}

TEST(FabricMetrics, ADataPlaneWhoseLinksAreMissingInPartHasNoSumsOfTheRest) {
  Scrape scrape = Loaded();
  scrape.fabric.mutable_data_planes(0)->mutable_workers(0)->mutable_cost()->set_hops(10);
  AddLink(scrape, 0, 0, 10);  // of the first page; the second one did not come
  AddLink(scrape, 0, 7, 0, 1);
  AddLink(scrape, 1, 3, 5);
  scrape.counters.set_links_missing(true);
  scrape.counters.add_planes_missing("dp0");
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  for (const char* name : {"bfly_stage_packets_total", "bfly_link_packets_total"}) {
    EXPECT_EQ(SeriesOf(families, name), 1u);
    EXPECT_EQ(Value(families, name, {{"data_plane", "dp1"}}), 5);
  }
}

TEST(FabricMetrics, ADataPlaneThatRunsAnotherFabricIsNotUp) {
  Scrape scrape = Loaded();
  AddLink(scrape, 0, 0, 10);
  AddLink(scrape, 1, 3, 5);
  scrape.fabric.mutable_data_planes(1)->set_out_of_step(true);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_data_plane_up", {{"data_plane", "dp0"}}), 1);
  EXPECT_EQ(Value(families, "bfly_data_plane_up", {{"data_plane", "dp1"}}), 0);
  EXPECT_EQ(SeriesOf(families, "bfly_stage_packets_total"), 1u);
  EXPECT_EQ(Value(families, "bfly_link_packets_total"), 10);
}

TEST(FabricMetrics, RowsOfAStageBelongToTheDataPlaneThatOwnsThem) {
  Scrape scrape = Loaded();
  scrape.fabric.mutable_data_planes(0)->mutable_workers(0)->add_stages(1);
  scrape.fabric.mutable_data_planes(0)->mutable_workers(0)->set_rows("0-1,4-5");
  scrape.fabric.mutable_data_planes(1)->mutable_workers(0)->set_rows("2-3,6-7");
  AddLink(scrape, 1, 5, 10);
  AddLink(scrape, 1, 6, 20);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "1"}, {"data_plane", "dp0"}}),
            10);
  EXPECT_EQ(Value(families, "bfly_stage_packets_total", {{"stage", "1"}, {"data_plane", "dp1"}}),
            20);
}

TEST(FabricMetrics, LinksAreBoundedAndTheFullestOnes) {
  Scrape scrape = Loaded();
  for (uint32_t row = 0; row < 8; ++row) AddLink(scrape, 0, row, 100 + row);
  AddLink(scrape, 1, 2, 1, 3);  // circuits count first
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 3);
  EXPECT_EQ(SeriesOf(families, "bfly_link_packets_total"), 3u);
  EXPECT_EQ(Value(families, "bfly_link_packets_total", {{"stage", "1"}, {"row", "2"}}), 1);
  EXPECT_EQ(Value(families, "bfly_link_packets_total", {{"stage", "0"}, {"row", "7"}}), 107);
  EXPECT_EQ(Value(families, "bfly_link_packets_total", {{"stage", "0"}, {"row", "6"}}), 106);
  EXPECT_EQ(Value(LinkMetrics(scrape, 3), "bfly_links_left_out"), 6);
  EXPECT_EQ(Value(LinkMetrics(scrape, 100), "bfly_links_left_out"), 0);
  EXPECT_EQ(SeriesOf(LinkMetrics(scrape, 100), "bfly_link_packets_total"), 9u);
}

TEST(FabricMetrics, OfALargeNetworkHaveNoSumsOfStages) {
  Scrape scrape = Loaded();
  scrape.every_link = false;
  AddLink(scrape, 0, 0, 10);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_stages_left_out"), 1);
  EXPECT_EQ(SeriesOf(families, "bfly_stage_packets_total"), 0u);
  EXPECT_EQ(SeriesOf(families, "bfly_link_packets_total"), 1u);
}

TEST(LinkMetrics, OfALargeNetworkDoNotSayThatNoLinkIsLeftOut) {
  Scrape scrape = Loaded();
  scrape.every_link = false;  // the scraper asked for the three fullest links alone
  for (uint32_t row = 0; row < 3; ++row) AddLink(scrape, 0, row, 10);
  EXPECT_EQ(Find(LinkMetrics(scrape, 3), "bfly_links_left_out"), nullptr);
  EXPECT_EQ(SeriesOf(LinkMetrics(scrape, 3), "bfly_link_packets_total"), 3u);
  // Of four links that were asked for only three carry anything.
  EXPECT_EQ(Value(LinkMetrics(scrape, 4), "bfly_links_left_out"), 0);
}

TEST(FabricMetrics, AreInSecondsWhateverTheApiTells) {
  Scrape scrape = Loaded();
  v1::Lateness& late =
      *scrape.fabric.mutable_data_planes(0)->mutable_workers(0)->mutable_lateness();
  late.set_p99_us(2.5);
  late.set_packets(4'000);
  late.set_mean_us(1.5);
  scrape.latency.mutable_end_to_end()->set_count(4);
  scrape.latency.mutable_end_to_end()->set_mean(1'500'000);
  scrape.latency.mutable_end_to_end()->set_p99(2'000'000);
  const std::vector<MetricFamily> families = FabricMetrics(scrape, 10);
  EXPECT_EQ(Value(families, "bfly_worker_busy_seconds_total", {{"data_plane", "dp0"}}), 3);
  EXPECT_DOUBLE_EQ(Value(families, "bfly_worker_late_p99_seconds", {{"data_plane", "dp0"}}),
                   2.5e-6);
  EXPECT_DOUBLE_EQ(Value(families, "bfly_worker_lateness_seconds_total", {{"data_plane", "dp0"}}),
                   0.006);
  const MetricFamily* const latency = Find(families, "bfly_latency_seconds");
  ASSERT_NE(latency, nullptr);
  ASSERT_EQ(latency->metric.size(), 1u);
  EXPECT_EQ(latency->metric[0].summary.sample_count, 4u);
  EXPECT_DOUBLE_EQ(latency->metric[0].summary.sample_sum, 0.006);
  EXPECT_DOUBLE_EQ(latency->metric[0].summary.quantile[2].value, 0.002);
}

TEST(FabricMetrics, CountersAreNamedTotalAndNoSeriesComesTwice) {
  Scrape scrape = Loaded();
  AddLink(scrape, 0, 0, 10);
  v1::PortCounters& port = *scrape.counters.add_ports();
  port.set_name("p0");
  port.add_drops()->set_reason("no_route");
  scrape.counters.add_drops()->set_reason("queue_full");
  std::set<std::string> names;
  for (const MetricFamily& family : FabricMetrics(scrape, 10)) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_EQ(family.type == prometheus::MetricType::Counter, family.name.ends_with("_total"))
        << family.name;
    EXPECT_TRUE(family.help.ends_with(".")) << family.name;
    std::set<std::vector<ClientMetric::Label>> series;
    for (const ClientMetric& metric : family.metric)
      EXPECT_TRUE(series.insert(metric.label).second) << family.name;
  }
}

}  // namespace
}  // namespace bfly::control
