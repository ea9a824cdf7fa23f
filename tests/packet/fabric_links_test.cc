// SPDX-License-Identifier: Apache-2.0
// A loaded fabric whose links take time: packets take that time, the account balances, and links
// change while workers run.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <numeric>
#include <utility>

#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

std::vector<Row> Rows(uint32_t rows) {
  std::vector<Row> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// While it lives, the process may take `bytes` more of address space.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(rlim_t bytes) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_GT(pages, 0u);
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~AddressSpaceLimit() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }

 private:
  rlimit before_;
};

TEST(FabricLinks, WithoutAddressSpaceForTheirPacketsTheyAreRefusedAndNothingChanges) {
  constexpr rlim_t kGibibyte = rlim_t{1} << 30;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 16);
  config.queue_memory_mb = 8192;
  std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  config.links.base.delay_ns = 1'000'000;
  {
    const AddressSpaceLimit limit(2 * kGibibyte);
    const absl::Status refused = fabric->SetLinks(config.links);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                testing::StartsWith("queue_memory_mb: the system refuses 8192 MiB"));
  }
  SendAllPairs(*fabric);
  EXPECT_TRUE(fabric->SetLinks(config.links).ok());
  fabric.reset();
  const AddressSpaceLimit limit(2 * kGibibyte);
  const absl::Status refused = Fabric::Load(config).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), testing::StartsWith("queue_memory_mb: "));
}

TEST(FabricLinks, PacketsAreInFlightAsLongAsTheirLinksTake) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 16);
  config.links.base.delay_ns = 50'000'000;  // 4 stages: 0.2 s
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const auto start = std::chrono::steady_clock::now();
  const auto took = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  ASSERT_TRUE(
      fabric->SetSources({{.rows = Rows(16), .destination = Destination::kUniform, .packets = 10}})
          .ok());
  // The test may get the CPU back after any time, so it looks at the clock after each snapshot.
  const Snapshot done = WaitUntil(*fabric, [&](const Snapshot& s) {
    if (took() < 0.2) {
      EXPECT_EQ(s.conservation.delivered, 0u);
    }
    return s.conservation.delivered + s.conservation.dropped >= 160;
  });
  EXPECT_GE(took(), 0.2);
  EXPECT_EQ(done.conservation.delivered, 160u);
  EXPECT_EQ(done.workers[0].lateness.packets, 4u * 160);
  EXPECT_GT(done.workers[0].lateness.max_ns, 0);
  EXPECT_LE(done.workers[0].lateness.mean_ns, done.workers[0].lateness.max_ns);
}

TEST(FabricLinks, ALinksRateBoundsWhatItCarries) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  // Only what leaves row 0 of stage 1: 1000 bytes in 1 ms.
  config.links.rules = {{.first_stage = 1,
                         .last_stage = 1,
                         .first_row = 0,
                         .last_row = 0,
                         .port = 0,
                         .bits_per_second = 8'000'000,
                         .queue_limit = 20}};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  // Row 0 to row 0, 4000 a second, so the queue is full from about 7 ms on.
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = {0},
                                 .packets_per_second = 4000,
                                 .bytes = 1000,
                                 .destination = Destination::kRow,
                                 .row = 0,
                                 .packets = 800}})
                  .ok());
  const Snapshot done = WaitForDeliveries(*fabric, 800);
  // Came within 0.2 s: one sent each ms, and what was waiting or being sent at the end. While the
  // worker stands still nothing comes: the last packet comes later by at most so long, and the link
  // never waits for packets if 20 that wait there outlast it.
  const auto delivered = static_cast<double>(done.conservation.delivered);
  const double late_ms = done.workers[0].lateness.max_ns / 1e6;
  EXPECT_LE(delivered, 200 + 21 + 3 + late_ms);
  if (late_ms < 15) {
    EXPECT_GE(delivered, 200 + 21 - 3);
  }
  const LinkCounters& link = done.links[fabric->network().link_index({1, 0, 0})];
  EXPECT_EQ(link.drops[static_cast<int>(DropReason::kQueueFull)], done.conservation.dropped);
  EXPECT_EQ(link.packets, done.conservation.delivered) << "and not the 800 that came";
  EXPECT_EQ(link.bytes, 1000 * done.conservation.delivered);
  // More if the worker was late to take away what had been sent.
  EXPECT_GE(link.occupancy_peak, 21u);
  EXPECT_NEAR(static_cast<double>(link.busy_ns), 1e6 * delivered, 1e4);
}

TEST(FabricLinks, OneFigureOfManyLinksIsWhatEachOfThemTells) {
  // Two workers have a half of each stage.
  FabricConfig config = Halves(NetworkKind::kButterfly, 16);
  // Some of what crosses stage 1 waits, is lost, or finds the queue full; stage 2 takes no time.
  config.links.rules = {{.first_stage = 1,
                         .last_stage = 1,
                         .first_row = 0,
                         .last_row = 15,
                         .bits_per_second = 8'000'000,
                         .queue_limit = 2,
                         .loss = 0.2}};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->SetLinkUp({2, 3, 1}, false).ok());
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = Rows(16),
                                 .bytes = 1000,
                                 .destination = Destination::kUniform,
                                 .packets = 20}})
                  .ok());
  const Snapshot done = WaitForDeliveries(*fabric, 320);
  EXPECT_EQ(fabric->stages(), std::pair(0, 3));
  ASSERT_EQ(done.links.size(), 4u * 32);
  std::array<uint64_t, 7> sums{};
  for (int figure = 0; figure < 7; ++figure) {
    for (uint64_t first = 0; first < done.links.size(); first += 32) {
      uint64_t values[32];
      fabric->ReadLinkFigures(static_cast<LinkFigure>(figure), first, values);
      for (uint64_t i = 0; i < 32; ++i) {
        const LinkCounters link = fabric->ReadLink(first + i);
        EXPECT_EQ(link.packets, done.links[first + i].packets);
        EXPECT_EQ(link.busy_ns, done.links[first + i].busy_ns);
        const uint64_t expected = FigureOf(link, static_cast<LinkFigure>(figure));
        if (static_cast<LinkFigure>(figure) == LinkFigure::kUse) {
          EXPECT_EQ(values[i] != 0, expected != 0);
        } else {
          EXPECT_EQ(values[i], expected);
        }
        sums[static_cast<size_t>(figure)] += values[i];
      }
    }
  }
  // Every figure but the occupancy at the end has something to tell here.
  EXPECT_EQ(sums[static_cast<size_t>(LinkFigure::kOccupancy)], 0u);
  EXPECT_EQ(sums[static_cast<size_t>(LinkFigure::kDrops)], done.conservation.dropped);
  for (const LinkFigure figure :
       {LinkFigure::kPackets, LinkFigure::kBytes, LinkFigure::kOccupancyPeak, LinkFigure::kDrops,
        LinkFigure::kBusy, LinkFigure::kUse}) {
    EXPECT_GT(sums[static_cast<size_t>(figure)], 0u);
  }
}

// Two sources share the link of row 0 into a butterfly of four rows: 1 ms a packet, 8 packets born
// in a ms. Only the one packet that is being sent keeps the urgent ones from theirs.
TEST(FabricLinks, SourcesOfHigherPriorityGoFirst) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  config.links.base = {.bits_per_second = 8'000'000, .discipline = Discipline::kPriority};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const SourceConfig relaxed{.rows = {0},
                             .packets_per_second = 4000,
                             .bytes = 1000,
                             .destination = Destination::kRow,
                             .row = 0,
                             .packets = 60};
  SourceConfig urgent = relaxed;
  urgent.row = 1;
  urgent.priority = 7;
  ASSERT_TRUE(fabric->SetSources({relaxed, urgent}).ok());
  const uint64_t to_0 = fabric->network().link_index({1, 0, 0});
  const uint64_t to_1 = fabric->network().link_index({1, 0, 1});
  uint64_t relaxed_before = 0;
  WaitUntil(*fabric, [&](const Snapshot& s) {
    if (s.links[to_1].packets < 60) relaxed_before = s.links[to_0].packets;
    return s.links[to_1].packets == 60;
  });
  // In order of arrival it would be about 60.
  EXPECT_LE(relaxed_before, 5u);
  WaitForDeliveries(*fabric, 120);
}

TEST(FabricLinks, ChangeUnderLoadAndTheAccountHolds) {
  // Two workers, and a wrapped butterfly whose packets cross each stage twice.
  for (const bool wrapped : {false, true}) {
    FabricConfig config =
        wrapped ? Placed(NetworkKind::kWrappedButterfly, 8, {0, OtherCpu(), 0}, 2)
                : Placed(NetworkKind::kTwoFoldButterfly, 8, {0, 0, 0, OtherCpu(), OtherCpu(), 0});
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric
                    ->SetSources({{.rows = Rows(8),
                                   .packets_per_second = 20'000,
                                   .destination = Destination::kUniform}})
                    .ok());
    for (int change = 0; change < 30; ++change) {
      LinkPlan plan;
      plan.base.discipline = static_cast<Discipline>(change % 3);
      if (change % 4 != 3) plan.base.bits_per_second = 50'000'000;
      if (change % 2 == 0) plan.base.delay_ns = 200'000;
      if (change % 5 == 0) plan.base.queue_limit = 5;
      plan.rules = {{.first_stage = 1, .last_stage = 1, .last_row = 3, .loss = 0.5}};
      if (change % 7 == 6) plan = {};
      const absl::Status status = fabric->SetLinks(plan);
      ASSERT_TRUE(status.ok()) << status;
      const uint64_t before = fabric->snapshot().conservation.injected;
      WaitUntil(*fabric,
                [before](const Snapshot& s) { return s.conservation.injected >= before + 300; });
    }
    ASSERT_TRUE(fabric->SetLinks({}).ok());
    ASSERT_TRUE(fabric->SetSources({}).ok());
    const Snapshot drained =
        WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
    EXPECT_GT(drained.conservation.delivered, 0u);
    EXPECT_GT(DroppedBy(drained, DropReason::kLoss), 0u);
    EXPECT_EQ(drained.links.size(), fabric->network().link_count());
    for (const LinkCounters& link : drained.links) EXPECT_EQ(link.occupancy, 0u);
  }
}

TEST(FabricLinks, WhatIsOnTheLinksWhenItIsUnloadedIsCountedSo) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.links.base.bits_per_second = 1000;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = Rows(8), .destination = Destination::kUniform, .packets = 5}})
          .ok());
  WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 40; });
  ASSERT_TRUE(fabric->Unload().ok());
  const Snapshot last = fabric->snapshot();
  ExpectConserved(last);
  EXPECT_EQ(DroppedBy(last, DropReason::kUnloaded), 40u);
  EXPECT_EQ(last.conservation.in_flight, 0u);
}

TEST(FabricLinks, WrongPlansAreRefusedWithTheFieldAndChangeNothing) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const auto message = [&](const LinkPlan& plan) {
    return std::string(fabric->SetLinks(plan).message());
  };
  EXPECT_EQ(message({.base = {.loss = 1.5}, .rules = {}}), "links.loss: 1.5 is outside 0..1");
  EXPECT_EQ(message({.base = {.bits_per_second = 2'000'000'000'000}, .rules = {}}),
            "links.bits_per_second: 2000000000000 is outside 0..1000000000000");
  EXPECT_EQ(message({.base = {}, .rules = {{}, {.first_stage = 2, .last_stage = 3}}}),
            "links.rules[1].stages: 2-3 is not a range within 0-2");
  EXPECT_EQ(message({.base = {}, .rules = {{.first_row = 5, .last_row = 8}}}),
            "links.rules[0].rows: 5-8 is not a range within 0-7");
  EXPECT_EQ(message({.base = {}, .rules = {{.port = 2}}}),
            "links.rules[0].port: 2 is outside 0..1");
  EXPECT_EQ(message({.base = {}, .rules = {{.delay_ns = 61'000'000'000}}}),
            "links.rules[0].delay_ns: 61000000000 is outside 0..60000000000");
}

}  // namespace
}  // namespace bfly::dataplane
