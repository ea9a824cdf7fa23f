// SPDX-License-Identifier: Apache-2.0
// What a schedule of a running fabric reports, up to its end, and the memory that it asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/fabric/loaded_schedules.h"
#include "dataplane/slots/schedules.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/plain_slots.h"
#include "tests/packet/rotor.h"
#include "tests/packet/slow_inlet.h"

namespace bfly::dataplane {
namespace {

struct SlotSums {
  explicit SlotSums(const ScheduleReport& report) {
    for (const SlotCounters& slot : report.slots) {
      frames += slot.frames;
      waiting += slot.waiting;
      full += slot.full;
      missed += slot.missed;
    }
  }
  uint64_t frames = 0, waiting = 0, full = 0, missed = 0;
};

TEST(ScheduleReports, TheEndOfAScheduleReportsTheFramesThatItDrops) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  // Slots of 10 s: whatever is not on waits.
  ASSERT_TRUE(fabric->schedules()->Start(Rotor(fabric->network(), 10e9)).ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  // One slot of seven is on: 8 packets pass, 8 have no slot, and 48 wait.
  WaitUntil(*fabric, [](const Snapshot& now) {
    return now.conservation.injected == 64 && now.conservation.delivered >= 8;
  });
  const absl::StatusOr<ScheduleReport> last = fabric->schedules()->Stop();
  ASSERT_TRUE(last.ok()) << last.status();
  const SlotSums sums(*last);
  EXPECT_EQ(sums.frames, 8u);
  EXPECT_EQ(last->no_slot, 8u);
  EXPECT_EQ(sums.missed, 48u);
  EXPECT_EQ(sums.waiting, 0u);
  EXPECT_EQ(last->id, 1u);
  EXPECT_EQ(last->workers.size(), 2u);
  EXPECT_EQ(DroppedBy(fabric->summary(), DropReason::kSlotMissed), 48u);
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// About a million circuits.
TEST(ScheduleReports, TimeBeginsWhenTheScheduleIsBuilt) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 1024));
  ASSERT_NE(fabric, nullptr);
  const ScheduleConfig config = Rotor(fabric->network(), 50'000);
  double build = 1e9;  // the shortest of some
  for (int i = 0; i < 5; ++i) {
    const auto started = std::chrono::steady_clock::now();
    const SlotTable table(fabric->network(), config, PlainClock());
    build = std::min(build, SecondsSince(started));
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(fabric->schedules()->Start(config).ok());
  const ScheduleReport report = fabric->schedules()->Report().value();
  const double took = SecondsSince(begin);
  // Start builds such a table too. Half of its time allows for noise.
  EXPECT_LT(report.seconds, took - build / 2);
  EXPECT_LE(static_cast<double>(report.turns - 1) * 50e-6, took - build / 2);
}

// Worker A runs the first stage and worker B the others. Worker A stands still, and B sends more
// frames back than the way holds.
TEST(ScheduleReports, FramesForWhichAWayBackHasNoRoomAreCounted) {
  FabricConfig config = Placed(NetworkKind::kButterfly, 8, {0, OtherCpu(), OtherCpu()});
  config.links.base.delay_ns = 100'000'000;
  SlowInlet::Speed speed;
  auto loaded = LoadedFabric::Load(config, [&](const Network&, const RouteTable&, RowRange) {
    return std::make_unique<SlowInlet>(speed);
  });
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  Fabric& fabric = **loaded;
  ScheduleConfig schedule = Rotor(fabric.network(), 100'000);
  schedule.late = LatePolicy::kVlb;
  ASSERT_TRUE(fabric.schedules()->Start(schedule).ok());
  ASSERT_TRUE(fabric
                  .SetSources({{.rows = AllRows(8),
                                .packets_per_second = 2'500,
                                .destination = SourceConfig::Destination::kUniform,
                                .seed = 3}})
                  .ok());
  const auto report = [&] { return fabric.schedules()->Report().value(); };
  // Of 20,000 frames a second about six of seven go by an intermediate row, so that B's links of
  // 0.2 s hold more than 3,000 of them.
  WaitUntil(fabric, [&](const Snapshot&) { return report().by_intermediate_row > 10'000; });
  speed.stall = true;
  WaitUntil(fabric, [](const Snapshot& s) { return DroppedBy(s, DropReason::kQueueMemory) > 0; });
  speed.stall = false;
  ASSERT_TRUE(fabric.SetSources({}).ok());
  const Snapshot s =
      WaitUntil(fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  const ScheduleReport last = report();
  EXPECT_EQ(last.no_memory, DroppedBy(s, DropReason::kQueueMemory));
  // A frame that turned back, or found no room to, came to the schedule twice.
  const SlotSums sums(last);
  EXPECT_EQ(sums.frames + sums.waiting + sums.full + sums.missed + last.no_slot + last.no_memory,
            s.conservation.injected + last.by_intermediate_row);
  // Another schedule counts anew.
  ++schedule.id;
  ASSERT_TRUE(fabric.schedules()->Start(schedule).ok());
  EXPECT_EQ(report().no_memory, 0u);
  ASSERT_TRUE(fabric.Unload().ok());
}

// 2^17 ways out and 2^10 gates make 2^27 ways of 1,024 descriptors of 40 bytes: 5,120 GiB.
TEST(ScheduleMemory, WaysBackThatTheMachineCannotHoldAreRefused) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 1024}).value();
  RouteTable routes(network, WithoutCircuit::kDrop);
  Workers workers;
  workers.push_back(std::make_unique<Worker>(UsableCpus().front(), IdleMode::kPoll));
  Egress way_out(network.rows());
  LoadedSchedules schedules(network, routes, workers);
  for (Row row = 0; row < network.rows(); ++row) schedules.AddGate({row, row}, *workers[0]);
  for (int i = 0; i < 1 << 17; ++i) schedules.AddWayOut(&way_out);
  ScheduleConfig config = Rotor(network, 100'000);
  config.tags.resize(1);
  config.late = LatePolicy::kVlb;
  const absl::Status status = schedules.Start(config);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("5120.0 GiB for the schedule"));
  EXPECT_FALSE(schedules.turns_back());
  EXPECT_EQ(schedules.Stop().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bfly::dataplane
