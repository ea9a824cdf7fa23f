// SPDX-License-Identifier: Apache-2.0
#include "control/rates/cost_since.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly::control {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

void AddStage(v1::WorkerCost& cost, uint32_t first, uint32_t stages, uint64_t hops,
              uint64_t cycles) {
  v1::StageCost& stage = *cost.add_stages();
  stage.set_first_stage(first);
  stage.set_stages(stages);
  stage.set_sampled_hops(hops);
  stage.set_sampled_cycles(cycles);
  stage.set_cycles_per_hop(static_cast<double>(cycles) / static_cast<double>(hops));
}

// 1,000 frames of 6 hops at 20 cycles a hop.
v1::WorkerCost Then() {
  v1::WorkerCost cost;
  cost.set_busy_cycles(120'000);
  cost.set_tsc_hz(2'000'000'000);
  cost.set_frames(1'000);
  cost.set_hops(6'000);
  cost.set_cycles_per_frame(120);
  cost.set_cycles_per_hop(20);
  cost.set_polls(500);
  cost.set_empty_polls(400);
  for (const uint64_t polls : {90, 10, 0}) cost.add_bursts(polls);
  AddStage(cost, 0, 3, 300, 6'000);
  AddStage(cost, 3, 1, 100, 1'000);
  return cost;
}

// 500 more, of which each hop cost 40 cycles.
v1::WorkerCost Now() {
  v1::WorkerCost cost = Then();
  cost.set_busy_cycles(240'000);
  cost.set_frames(1'500);
  cost.set_hops(9'000);
  cost.set_cycles_per_frame(160);
  cost.set_cycles_per_hop(80.0 / 3);
  cost.set_polls(600);
  cost.set_empty_polls(440);
  cost.set_bursts(0, 91);
  cost.set_bursts(2, 59);
  cost.clear_stages();
  AddStage(cost, 0, 3, 400, 10'000);
  AddStage(cost, 3, 1, 100, 1'000);
  AddStage(cost, 4, 1, 50, 1'500);
  return cost;
}

TEST(CostSince, IsWhatGrewAndItsQuotients) {
  const v1::WorkerCost cost = CostSince(Then(), Now());
  EXPECT_EQ(cost.busy_cycles(), 120'000u);
  EXPECT_EQ(cost.frames(), 500u);
  EXPECT_EQ(cost.hops(), 3'000u);
  EXPECT_DOUBLE_EQ(cost.cycles_per_frame(), 240);
  EXPECT_DOUBLE_EQ(cost.cycles_per_hop(), 40);
  EXPECT_EQ(cost.polls(), 100u);
  EXPECT_EQ(cost.empty_polls(), 40u);
  EXPECT_THAT(cost.bursts(), ElementsAre(1, 0, 59));
  EXPECT_EQ(cost.tsc_hz(), 2'000'000'000u);
}

TEST(CostSince, HasTheStagesThatWereSampledInBetween) {
  const v1::WorkerCost cost = CostSince(Then(), Now());
  ASSERT_THAT(cost.stages(), SizeIs(2));
  EXPECT_EQ(cost.stages(0).sampled_hops(), 100u);
  EXPECT_EQ(cost.stages(0).sampled_cycles(), 4'000u);
  EXPECT_DOUBLE_EQ(cost.stages(0).cycles_per_hop(), 40);
  EXPECT_EQ(cost.stages(1).first_stage(), 4u);
  EXPECT_DOUBLE_EQ(cost.stages(1).cycles_per_hop(), 30);
}

TEST(CostSince, AStageThatIsNowCrossedByItselfIsNotTheStepThatItBegan) {
  v1::WorkerCost now = Now();
  now.mutable_stages(0)->set_stages(1);
  EXPECT_DOUBLE_EQ(CostSince(Then(), now).stages(0).cycles_per_hop(), 25);
}

TEST(CostSince, OfNothingHasNoCosts) {
  const v1::WorkerCost cost = CostSince(Now(), Now());
  EXPECT_EQ(cost.frames(), 0u);
  EXPECT_DOUBLE_EQ(cost.cycles_per_frame(), 0);
  EXPECT_DOUBLE_EQ(cost.cycles_per_hop(), 0);
  EXPECT_THAT(cost.stages(), SizeIs(0));
}

TEST(CostSince, OfADataPlaneThatBeganAnewIsAllOfIt) {
  EXPECT_EQ(CostSince(Now(), Then()).busy_cycles(), 120'000u);
  // It polls faster, since it has nothing to do.
  v1::WorkerCost idle;
  idle.set_polls(10'000);
  idle.set_empty_polls(9'999);
  idle.set_frames(1);
  idle.set_hops(6);
  idle.set_busy_cycles(600);
  const v1::WorkerCost cost = CostSince(Now(), idle);
  EXPECT_EQ(cost.frames(), 1u);
  EXPECT_EQ(cost.busy_cycles(), 600u);
}

v1::FabricStatus OneWorker(uint32_t lcore, uint64_t passes, uint64_t idle,
                           const v1::WorkerCost& cost) {
  v1::FabricStatus status;
  v1::DataPlaneStatus& plane = *status.add_data_planes();
  plane.set_name("dp0");
  v1::WorkerStatus& worker = *plane.add_workers();
  worker.set_lcore(lcore);
  worker.set_passes(passes);
  worker.set_idle_passes(idle);
  *worker.mutable_cost() = cost;
  return status;
}

TEST(WorkSince, IsByDataPlaneAndLcore) {
  const v1::FabricStatus before = OneWorker(1, 100, 90, Then());
  const v1::WorkerStatus same =
      WorkSince(before, OneWorker(1, 150, 95, Now())).data_planes(0).workers(0);
  EXPECT_EQ(same.passes(), 50u);
  EXPECT_EQ(same.idle_passes(), 5u);
  EXPECT_DOUBLE_EQ(same.cost().cycles_per_hop(), 40);
  const v1::WorkerStatus other =
      WorkSince(before, OneWorker(2, 150, 95, Now())).data_planes(0).workers(0);
  EXPECT_EQ(other.passes(), 150u);
  EXPECT_DOUBLE_EQ(other.cost().cycles_per_hop(), 80.0 / 3);
}

}  // namespace
}  // namespace bfly::control
