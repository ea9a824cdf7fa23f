// SPDX-License-Identifier: Apache-2.0
// Latencies of a running fabric: which packets are recorded, and when recording begins and ends.
#include <gtest/gtest.h>

#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

SourceConfig Packets(uint64_t packets) {
  return {.rows = {0, 1, 2, 3},
          .packets_per_second = 1000,
          .destination = Destination::kUniform,
          .packets = packets};
}

TEST(Latency, IsRecordedOfEveryDeliveryWhileItIsAskedFor) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(Placed(NetworkKind::kButterfly, 4, {0, OtherCpu()}));
  ASSERT_NE(fabric, nullptr);
  EXPECT_FALSE(fabric->latency().recording);
  ASSERT_TRUE(fabric->SetSources({Packets(10)}).ok());
  WaitForDeliveries(*fabric, 40);
  EXPECT_EQ(fabric->latency().end_to_end.count, 0u) << "nobody had asked";

  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  ASSERT_TRUE(fabric->SetSources({Packets(25)}).ok());
  WaitForDeliveries(*fabric, 140);
  LatencyReport report = fabric->latency();
  EXPECT_TRUE(report.recording);
  EXPECT_EQ(report.end_to_end.count, 100u);
  EXPECT_EQ(report.links.count, 100u);
  EXPECT_EQ(report.late.count, 100u);
  EXPECT_EQ(report.links.max, 0) << "no link takes time";
  EXPECT_GT(report.end_to_end.p50, 0);
  EXPECT_LE(report.end_to_end.p50, report.end_to_end.p90);
  EXPECT_LE(report.end_to_end.p99, report.end_to_end.p999);
  EXPECT_LE(report.end_to_end.p999, report.end_to_end.max);
  EXPECT_LE(report.end_to_end.mean, report.end_to_end.max);
  // Every part is there: end to end = links + late, packet by packet.
  EXPECT_DOUBLE_EQ(report.end_to_end.mean, report.links.mean + report.late.mean);

  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  EXPECT_EQ(fabric->latency().end_to_end.count, 0u) << "asking again starts again";
  ASSERT_TRUE(fabric->RecordLatency(false).ok());
  EXPECT_FALSE(fabric->latency().recording);
  ASSERT_TRUE(fabric->SetSources({Packets(5)}).ok());
  WaitForDeliveries(*fabric, 160);
  EXPECT_EQ(fabric->latency().end_to_end.count, 0u);
  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_EQ(fabric->RecordLatency(true).status().code(), absl::StatusCode::kFailedPrecondition);
}

// A mean is a sum divided by a count. Both must be of the same packets, although workers go on
// meanwhile.
TEST(Latency, WhatARecordingEndsWithAddsUp) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = {0, 1, 2, 3}, .destination = Destination::kUniform}}).ok());
  for (int time = 0; time < 20; ++time) {
    ASSERT_TRUE(fabric->RecordLatency(true).ok());
    WaitUntil(*fabric, [&](const Snapshot&) { return fabric->latency().end_to_end.count > 0; });
    const absl::StatusOr<LatencyReport> report = fabric->RecordLatency(false);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_GT(report->end_to_end.count, 0u);
    EXPECT_EQ(report->end_to_end.count, report->links.count);
    EXPECT_EQ(report->end_to_end.count, report->late.count);
    EXPECT_NEAR(report->end_to_end.mean, report->links.mean + report->late.mean,
                1e-9 * report->end_to_end.mean);
  }
}

// Links of 8 Mbit/s carry a packet of 100 bytes in 100 us; it crosses three of them, alone. Delay
// 50 us on top of each.
TEST(Latency, OfStagesIsWhatTheirLinksTake) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.links.base = {.bits_per_second = 8'000'000, .delay_ns = 50'000};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = {3},
                                 .packets_per_second = 1000,
                                 .bytes = 100,
                                 .destination = Destination::kRow,
                                 .row = 6,
                                 .packets = 50}})
                  .ok());
  WaitForDeliveries(*fabric, 50);
  const LatencyReport report = fabric->latency();
  ASSERT_EQ(report.stages.size(), 3u);
  for (const LatencySummary& stage : report.stages) {
    EXPECT_EQ(stage.count, 50u);
    EXPECT_NEAR(stage.mean, 150'000, 100);
    EXPECT_NEAR(stage.max, 150'000, 100);
    EXPECT_NEAR(stage.p99, 150'000, 600) << "one part in 256";
  }
  EXPECT_NEAR(report.links.mean, 450'000, 300);
  EXPECT_GE(report.end_to_end.mean, report.links.mean);
  EXPECT_NEAR(report.end_to_end.mean, report.links.mean + report.late.mean, 1);
}

// More packets are due than a worker can send, so they are late, and the latency shows it.
TEST(Latency, CountsFromWhenAPacketWasDue) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 4));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  // A packet each nanosecond, for 4 ms.
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = {0, 1, 2, 3},
                                 .packets_per_second = 2.5e8,
                                 .destination = Destination::kUniform,
                                 .packets = 1'000'000}})
                  .ok());
  WaitForDeliveries(*fabric, 4'000'000);
  const LatencyReport report = fabric->latency();
  EXPECT_EQ(report.end_to_end.count, 4'000'000u);
  EXPECT_GT(report.late.max, 1e6) << "four million packets take no millisecond";
}

}  // namespace
}  // namespace bfly::dataplane
