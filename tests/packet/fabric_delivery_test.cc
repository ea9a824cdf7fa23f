// SPDX-License-Identifier: Apache-2.0
// Where packets go, and that every placement of the stages sends them to the same place.
#include <time.h>

#include <set>

#include "tests/packet/fabric_fixture.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

void ExpectAllPairsWalked(const FabricConfig& config) {
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const Snapshot s = SendAllPairs(*fabric);
  for (const LinkCounters& link : s.links) EXPECT_EQ(link.bytes, 64 * link.packets);
  // Every worker took part.
  EXPECT_FALSE(s.workers.empty());
  for (const WorkerCounters& worker : s.workers) {
    EXPECT_GT(worker.ledger.handed_on + worker.ledger.delivered, 0u) << "CPU " << worker.lcore;
  }
}

TEST(Delivery, AllPairsFollowTheirPathsOnOneWorker) {
  ExpectAllPairsWalked(OneWorker(NetworkKind::kButterfly, 16));
  ExpectAllPairsWalked(OneWorker(NetworkKind::kTwoFoldButterfly, 8));
  ExpectAllPairsWalked(OneWorker(NetworkKind::kWrappedButterfly, 8));
}

TEST(Delivery, EveryPlacementOfASmallNetworkDeliversTheSame) {
  // Each of the 4 stages of BB_4 on either of two CPUs: contiguous, alternating, all on one.
  for (int placement = 0; placement < 16; ++placement) {
    SCOPED_TRACE(placement);
    std::vector<int> cpu_of_stage;
    for (int s = 0; s < 4; ++s) cpu_of_stage.push_back(placement >> s & 1 ? OtherCpu() : 0);
    ExpectAllPairsWalked(Placed(NetworkKind::kTwoFoldButterfly, 4, cpu_of_stage));
  }
}

TEST(Delivery, TwoPassesThroughAWrappedButterflyShareItsLinks) {
  ExpectAllPairsWalked(OneWorker(NetworkKind::kWrappedButterfly, 8, 2));
  // The packets of pass 2 come back to workers that are busy with pass 1.
  ExpectAllPairsWalked(Placed(NetworkKind::kWrappedButterfly, 8, {0, OtherCpu(), 0}, 2));
  ExpectAllPairsWalked(Placed(NetworkKind::kWrappedButterfly, 8, {0, 0, OtherCpu()}, 2));
}

TEST(Delivery, UniformTrafficIsTheSameForOneWorkerAndForTwo) {
  std::vector<std::vector<uint64_t>> counts;
  for (const int cpu : {0, OtherCpu()}) {
    const std::unique_ptr<Fabric> fabric =
        MustLoad(Placed(NetworkKind::kButterfly, 16, {0, 0, cpu, cpu}));
    ASSERT_NE(fabric, nullptr);
    SourceConfig source{
        .destination = SourceConfig::Destination::kUniform, .seed = 7, .packets = 500};
    for (Row r = 0; r < 16; ++r) source.rows.push_back(r);
    ASSERT_TRUE(fabric->SetSources({source}).ok());
    const Snapshot s = WaitForDeliveries(*fabric, 16 * 500);
    EXPECT_EQ(s.conservation.delivered, 16u * 500);
    EXPECT_EQ(s.workers.size(), cpu == 0 ? 1u : 2u);
    counts.push_back(PacketCounts(s));
  }
  EXPECT_EQ(counts[0], counts[1]);
}

// The CPU time of this thread. The clock on the wall goes on while other processes have the CPU.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(Delivery, AFabricOf1024RowsLoadsInLessThanASecond) {
  const double start = CpuSeconds();
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kTwoFoldButterfly, 1024));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = {5},
                                 .destination = SourceConfig::Destination::kRow,
                                 .row = 1000,
                                 .packets = 1}})
                  .ok());
  EXPECT_LT(CpuSeconds() - start, 1);
  const Snapshot s = WaitForDeliveries(*fabric, 1);
  EXPECT_EQ(s.conservation.delivered, 1u);
}

TEST(Delivery, AFabricCanBeLoadedAgainAndAgain) {
  for (int round = 0; round < 20; ++round) {
    const std::unique_ptr<Fabric> fabric =
        MustLoad(Placed(NetworkKind::kButterfly, 4, {0, OtherCpu()}));
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric
                    ->SetSources({{.rows = {0, 1, 2, 3},
                                   .destination = SourceConfig::Destination::kRow,
                                   .row = 3,
                                   .packets = 10}})
                    .ok());
    EXPECT_EQ(WaitForDeliveries(*fabric, 40).conservation.delivered, 40u);
    ASSERT_TRUE(fabric->Unload().ok());
  }
}

TEST(Delivery, AWorkerIsAskedOnlyOnce) {
  const std::unique_ptr<Fabric> first = MustLoad(OneWorker(NetworkKind::kButterfly, 4));
  ASSERT_NE(first, nullptr);
  const auto second = Fabric::Load(OneWorker(NetworkKind::kButterfly, 4));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

}  // namespace
}  // namespace bfly::dataplane
