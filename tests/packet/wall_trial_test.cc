// SPDX-License-Identifier: Apache-2.0
// The same point under both clocks: real workers on links with a rate, against exact arithmetic.
#include "control/measure/packets/wall_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/wall_clock/wall_run.h"

namespace bfly::control {
namespace {

using ::testing::HasSubstr;

v1::Experiment Small(double unit_us) {
  v1::Experiment experiment;
  experiment.set_packets(40'000);
  experiment.set_clock(v1::Experiment::WALL);
  experiment.set_unit_us(unit_us);
  experiment.set_workers(1);
  experiment.add_seeds(1);
  return experiment;
}

bool Never() { return false; }

// By what part the packets of a measurement may differ because a worker was late: the packets of
// that time may belong to the measurement or not, at both of its ends. The worst that a packet was
// late says how long a worker stood still. The measurement takes 0.8 of the time or more.
double LatePart(const Trial& wall, const v1::Experiment& experiment, const PacketPoint& point) {
  return 2 * wall.figure("late_max_us") / 1e6 / (0.8 * WallSecondsOf(experiment, point));
}

// 40,000 packets at a mean delay of 4.5 units with a deviation of about one: the standard error is
// below half a percent, also where neighbours in time are alike. 5 % is the tolerance. Load is
// counted by the clock, so a worker that stood still adds to its tolerance.
void ExpectClocksAgree(const PacketPoint& point) {
  const v1::Experiment experiment = Small(400);
  const absl::StatusOr<Trial> wall = RunWallTrial(experiment, point, 1, Never);
  ASSERT_TRUE(wall.ok()) << wall.status();
  v1::Experiment longer = experiment;
  longer.set_packets(500'000);
  const absl::StatusOr<Trial> exact = RunTrial(longer, point, 2);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_NEAR(wall->figure("links_delay") / exact->mean_delay, 1, 0.05);
  const double late = LatePart(*wall, experiment, point);
  EXPECT_NEAR(wall->offered / point.lambda(), 1, 0.05 + late);
  EXPECT_NEAR(wall->accepted / point.lambda(), 1, 0.05 + late);
  EXPECT_NEAR(wall->straight_utilisation, exact->straight_utilisation, 0.05 + late);
  EXPECT_NEAR(wall->cross_utilisation, exact->cross_utilisation, 0.05 + late);
  EXPECT_NEAR(wall->figure("links_p50") / exact->p50, 1, 0.1);
  EXPECT_NEAR(wall->figure("links_p99") / exact->p99, 1, 0.15);
  EXPECT_EQ(wall->unfinished, 0u);
  EXPECT_GE(static_cast<double>(wall->measured), 40'000 * (0.9 - late));
  // The sinks measure delays: the part that the links account for, and the lateness of the workers.
  EXPECT_EQ(wall->figure("delivered_delay"), wall->mean_delay);
  EXPECT_NEAR(wall->mean_delay - wall->figure("links_delay"),
              wall->figure("late_mean_us") / experiment.unit_us(), 1e-6);
  double batches = 0;
  for (const double batch : wall->batch_delays) batches += batch;
  // Batches end by the clock, too, and a batch in which a worker stood still has other packets.
  if (late < 0.02) {
    EXPECT_NEAR(batches / static_cast<double>(wall->batch_delays.size()) / wall->mean_delay, 1,
                0.1);
  }
  EXPECT_GE(wall->figure("late_max_us"), wall->figure("late_p99_us"));
  EXPECT_GT(wall->figure("late_mean_us"), 0);
  testing::Test::RecordProperty("late_mean_us", std::to_string(wall->figure("late_mean_us")));
}

TEST(WallTrial, AButterflyAgreesWithTheVirtualClock) {
  ExpectClocksAgree({.network = NetworkKind::kButterfly, .d = 3, .p = 0.5, .rho = 0.5});
}

TEST(WallTrial, AHypercubeAgreesWithTheVirtualClock) {
  ExpectClocksAgree({.network = NetworkKind::kHypercube, .d = 3, .p = 0.5, .rho = 0.5});
}

// Links that share their rate have another mean delay than FIFO links.
TEST(WallTrial, SharedLinksAgreeWithTheVirtualClock) {
  ExpectClocksAgree({.network = NetworkKind::kButterfly,
                     .d = 3,
                     .p = 0.5,
                     .rho = 0.5,
                     .discipline = dataplane::Discipline::kProcessorSharing});
}

// A packet in a slot of one unit with probability 0.4, two rows' packets on the busiest link. The
// warm-up follows the load of this link.
TEST(WallTrial, APatternInSlotsAgreesWithTheVirtualClock) {
  ExpectClocksAgree({.network = NetworkKind::kButterfly,
                     .d = 3,
                     .slot = 1,
                     .pattern = "bitrev",
                     .load = 0.4,
                     .bernoulli = true,
                     .worst_link = 2,
                     .worst_carried_link = 2});
}

TEST(WallTrial, BeyondSaturationALinkCarriesOnePacketAUnit) {
  v1::Experiment experiment = Small(100);
  experiment.set_warmup(100);
  const PacketPoint point{.network = NetworkKind::kButterfly, .d = 2, .p = 0, .rho = 1.5};
  const absl::StatusOr<Trial> wall = RunWallTrial(experiment, point, 1, Never);
  ASSERT_TRUE(wall.ok()) << wall.status();
  const double late = LatePart(*wall, experiment, point);
  EXPECT_NEAR(wall->offered, 1.5, 0.1 + 1.5 * late);
  EXPECT_NEAR(wall->accepted, 1, 0.1 + late);
}

// Rows send 20,000 packets a second over links that carry 6,667, and 1 MiB has room for 16,384.
TEST(WallTrial, PacketsThatFindNoRoomInTheQueueMemoryAreUnfinished) {
  const dataplane::WallRunConfig config{.network = {.kind = NetworkKind::kButterfly, .rows = 4},
                                        .bits_per_second = uint64_t{6'667} * 125 * 8,
                                        .packets_per_second = 20'000,
                                        .pattern = {.name = "p-flip", .p = 0},
                                        .seed = 1,
                                        .warmup = 0.3,
                                        .duration = 1.5,
                                        .drain = 2,
                                        .queue_memory_mb = 1};
  const absl::StatusOr<dataplane::WallRunResult> run = dataplane::RunWall(config, Never);
  ASSERT_TRUE(run.ok()) << run.status();
  constexpr uint64_t kMostInside = 20'000;  // in queues and bursts
  EXPECT_GT(run->unfinished, 0u);
  EXPECT_GE(run->unfinished + kMostInside, run->offered - run->delivered);
}

TEST(WallTrial, EndsWhenItIsInterrupted) {
  int asked = 0;
  const auto trial =
      RunWallTrial(Small(1000), {.d = 3, .rho = 0.5}, 1, [&] { return ++asked > 2; });
  EXPECT_EQ(trial.status().code(), absl::StatusCode::kCancelled);
}

TEST(WallTrial, APointThatCannotRunSaysWhy) {
  v1::Experiment experiment = Small(1);
  const PacketPoint many{.d = 10, .rho = 0.5};
  EXPECT_THAT(std::string(CheckWallPoint(experiment, many).message()),
              HasSubstr("packets a second, more than 2e+06; raise it to 512 or more"));
  const PacketPoint classes{.d = 3, .rho = 0.5, .discipline = dataplane::Discipline::kPriority};
  EXPECT_THAT(std::string(CheckWallPoint(Small(1000), classes).message()),
              HasSubstr("discipline: priority is measured under the virtual clock alone"));
  const PacketPoint rounds{
      .network = NetworkKind::kHypercube, .d = 3, .rho = 0.01, .in_rounds = true};
  EXPECT_THAT(std::string(CheckWallPoint(Small(1000), rounds).message()),
              HasSubstr("scheme: valiant_brebner is measured under the virtual clock alone"));
  const PacketPoint shared{.d = 3, .rho = 0.5, .links = dataplane::LinkModel::kSwitchOutput};
  EXPECT_THAT(std::string(CheckWallPoint(Small(1000), shared).message()),
              HasSubstr("links: switch_output is measured under the virtual clock alone"));
  experiment = Small(1000);
  experiment.set_workers(3);
  EXPECT_THAT(std::string(CheckWallPoint(experiment, {.d = 2, .rho = 0.5}).message()),
              HasSubstr("workers: 3 is more than the 2 stages of d=2"));
  experiment.set_workers(64);
  const auto trial = RunWallTrial(experiment, {.d = 3, .rho = 0.5}, 1, Never);
  EXPECT_EQ(trial.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(trial.status().message()), HasSubstr("workers: 64 is outside 1.."));
}

}  // namespace
}  // namespace bfly::control
