// SPDX-License-Identifier: Apache-2.0
// A schedule whose workers have several blocks of input rows each, and so several gates.
#include <gtest/gtest.h>

#include "dataplane/slots/schedules.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/rotor.h"

namespace bfly::dataplane {
namespace {

// Eight rows, which two workers have in turn.
FabricConfig RowsInTurn() {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  const StagePlacement whole = config.placement[0];
  config.placement.clear();
  for (Row row = 0; row < 8; ++row) {
    config.placement.push_back(whole);
    config.placement.back().rows = {row, row};
    if (row % 2 == 1) config.placement.back().lcore = UsableCpus()[OtherCpu()];
  }
  return config;
}

TEST(ScheduleBlocks, AllBlocksTogetherHoldAsManyFramesAsMayWait) {
  for (const uint32_t frames : {1u, 7u, 8u, 15u}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(RowsInTurn());
    ASSERT_NE(fabric, nullptr);
    // Slots of 10 s: whatever is not on waits, if it may.
    ScheduleConfig schedule = Rotor(fabric->network(), 10e9);
    schedule.waiting_frames = frames;
    ASSERT_TRUE(fabric->schedules()->Start(schedule).ok());
    ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
    // Of 64 packets 8 pass in the slot that is on, 8 have no slot, and 6 from each row would wait.
    const Snapshot s = WaitUntil(*fabric, [&](const Snapshot& now) {
      return now.conservation.delivered == 8 && now.conservation.dropped >= 8 + 48 - frames;
    });
    EXPECT_EQ(s.conservation.injected, 64u);
    EXPECT_EQ(s.conservation.in_flight, frames);
    EXPECT_EQ(DroppedBy(s, DropReason::kQueueMemory), 48 - frames);
    // Every frame counts once, though a worker has four gates.
    const ScheduleReport report = fabric->schedules()->Report().value();
    EXPECT_EQ(report.no_memory, 48 - frames);
    EXPECT_EQ(report.no_slot, 8u);
    uint64_t entered = 0, waiting = 0;
    for (const SlotCounters& slot : report.slots) {
      entered += slot.frames;
      waiting += slot.waiting;
    }
    EXPECT_EQ(entered, 8u);
    EXPECT_EQ(waiting, frames);
    ASSERT_TRUE(fabric->Unload().ok());
  }
}

// Slots of 1 us are shorter than a pass, and frames wait at all gates.
TEST(ScheduleBlocks, ASlotCountsOnceForAWorker) {
  const std::unique_ptr<Fabric> fabric = MustLoad(RowsInTurn());
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->schedules()->Start(Rotor(fabric->network(), kShortestSlotNs)).ok());
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = AllRows(8),
                                 .packets_per_second = 500'000,
                                 .destination = SourceConfig::Destination::kUniform,
                                 .seed = 3}})
                  .ok());
  const auto report = [&] { return fabric->schedules()->Report().value(); };
  ScheduleReport now = report();
  while (now.turns < 100'000) now = report();
  // Slots begin while the workers are asked.
  const uint64_t most = report().turns;
  ASSERT_EQ(now.workers.size(), 2u);
  for (const ScheduleReport::Switching& worker : now.workers) {
    EXPECT_GT(worker.lateness.packets + worker.passed_over, 0u);
    EXPECT_LE(worker.lateness.packets + worker.passed_over, most);
  }
}

}  // namespace
}  // namespace bfly::dataplane
