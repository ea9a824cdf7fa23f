// SPDX-License-Identifier: Apache-2.0
// Circuits on a clock in a running fabric, with one worker and with several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/slots/schedules.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/rotor.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;
using Destination = SourceConfig::Destination;

ScheduleReport MustReport(Fabric& fabric) {
  const absl::StatusOr<ScheduleReport> report = fabric.schedules()->Report();
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(ScheduleReport{});
}

class ScheduleFabric : public testing::TestWithParam<bool> {
 protected:
  FabricConfig Config(NetworkKind kind, uint32_t rows) const {
    return GetParam() ? Halves(kind, rows) : OneWorker(kind, rows);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ScheduleFabric, testing::Bool());

TEST_P(ScheduleFabric, EveryPairHasItsSlot) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(Config(kind, 16));
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric->schedules()->Start(Rotor(fabric->network(), 100'000)).ok());
    ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
    const Snapshot s = WaitForDeliveries(*fabric, 256);
    // A rotor leads no row to itself.
    EXPECT_EQ(s.conservation.delivered, 240u);
    EXPECT_EQ(DroppedBy(s, DropReason::kNoSlot), 16u);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    std::vector<std::pair<Row, Tag>> sent;
    for (const auto& [row, tag] : AllPairsGreedy(fabric->network())) {
      if (OutputOfTag(fabric->network(), tag) != row) sent.emplace_back(row, tag);
    }
    EXPECT_EQ(PacketCounts(s), WalkedCounts(fabric->network(), sent));
    const ScheduleReport report = MustReport(*fabric);
    ASSERT_EQ(report.slots.size(), 15u);
    for (const SlotCounters& slot : report.slots) {
      EXPECT_EQ(slot.frames, 16u) << "each row sent one packet in each slot";
      EXPECT_EQ(slot.bytes, 16u * 64);
      EXPECT_LE(slot.used, 16u);
      EXPECT_GE(slot.turns, 1u);
      EXPECT_EQ(slot.waiting, 0u);
    }
    EXPECT_EQ(report.no_slot, 16u);
    ASSERT_EQ(report.workers.size(), GetParam() ? 2u : 1u);
  }
}

TEST_P(ScheduleFabric, AccountsBalanceAtEveryMomentWhileSchedulesComeAndGo) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Config(NetworkKind::kButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  ScheduleConfig config = Rotor(fabric->network(), 50'000);
  config.queue_frames = 8;
  ASSERT_TRUE(fabric->schedules()->Start(config).ok());
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = AllRows(16),
                                 .packets_per_second = 20'000,
                                 .destination = Destination::kUniform,
                                 .seed = 3}})
                  .ok());
  uint64_t most_in_flight = 0;
  for (int round = 0; round < 30; ++round) {
    uint64_t before = fabric->summary().conservation.injected;
    for (int look = 0; look < 50 || fabric->summary().conservation.injected < before + 200;
         ++look) {
      const Snapshot s = fabric->summary();
      ExpectConserved(s);
      most_in_flight = std::max(most_in_flight, s.conservation.in_flight);
    }
    if (round % 3 == 0) {
      ++config.id;  // another schedule, which begins anew
      std::rotate(config.tags.begin(), config.tags.begin() + 1, config.tags.end());
      config.late = round % 2 == 0 ? LatePolicy::kDrop : LatePolicy::kWait;
      ASSERT_TRUE(fabric->schedules()->Start(config).ok());
    } else if (round % 3 == 1) {
      ASSERT_TRUE(fabric->schedules()->Start(config).ok());  // a repair of the same
    } else {
      ASSERT_TRUE(fabric->schedules()->Stop().ok());
      EXPECT_EQ(fabric->schedules()->Stop().status().code(), absl::StatusCode::kFailedPrecondition);
      ASSERT_TRUE(fabric->schedules()->Start(config).ok());
    }
  }
  EXPECT_GT(most_in_flight, 0u);
  ASSERT_TRUE(fabric->SetSources({}).ok());
  const Snapshot s =
      WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  EXPECT_GT(DroppedBy(s, DropReason::kSlotMissed), 0u);
  ASSERT_TRUE(fabric->Unload().ok());
}

TEST_P(ScheduleFabric, FramesThatWaitAreDroppedWhenTheFabricGoes) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Config(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  // Slots of 10 s: whatever is not on waits.
  ASSERT_TRUE(fabric->schedules()->Start(Rotor(fabric->network(), 10e9)).ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  // One slot of seven is on: 8 packets pass, 8 have no slot, and 48 wait.
  const Snapshot s = WaitUntil(*fabric, [](const Snapshot& now) {
    return now.conservation.injected == 64 && now.conservation.delivered >= 8;
  });
  EXPECT_EQ(s.conservation.delivered, 8u);
  EXPECT_EQ(s.conservation.in_flight, 48u);
  uint64_t waiting = 0;
  for (const SlotCounters& slot : MustReport(*fabric).slots) waiting += slot.waiting;
  EXPECT_EQ(waiting, 48u);
  ASSERT_TRUE(fabric->Unload().ok());
  const Snapshot last = fabric->summary();
  EXPECT_EQ(last.conservation.in_flight, 0u);
  EXPECT_EQ(DroppedBy(last, DropReason::kUnloaded), 48u);
  ExpectConserved(last);
}

TEST_P(ScheduleFabric, CircuitsPassAtAllTimes) {
  FabricConfig config = Config(NetworkKind::kButterfly, 8);
  config.without_circuit = WithoutCircuit::kDrop;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ScheduleConfig schedule = Rotor(fabric->network(), 10e9);
  schedule.tags.resize(1);  // only row i to row i + 1, and that at all times but the guard
  ASSERT_TRUE(fabric->schedules()->Start(schedule).ok());
  ASSERT_TRUE(fabric->InstallCircuit(3, 6).ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  Snapshot s = WaitForDeliveries(*fabric, 64);
  // 8 by the slot and the circuit's own; the schedule decides about the others.
  EXPECT_EQ(s.conservation.delivered, 9u);
  EXPECT_EQ(DroppedBy(s, DropReason::kNoSlot), 55u);
  EXPECT_EQ(DroppedBy(s, DropReason::kNoCircuit), 0u);
  // Without a schedule the fabric drops what has no circuit, as its file says.
  ASSERT_TRUE(fabric->schedules()->Stop().ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  s = WaitForDeliveries(*fabric, 128);
  EXPECT_EQ(s.conservation.delivered, 10u);
  EXPECT_EQ(DroppedBy(s, DropReason::kNoCircuit), 63u);
}

TEST_P(ScheduleFabric, ARepairKeepsTheClockAndTheCounters) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Config(NetworkKind::kTwoFoldButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  ScheduleConfig config = Rotor(fabric->network(), 20'000);
  ASSERT_TRUE(fabric->schedules()->Start(config).ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  WaitForDeliveries(*fabric, 64);
  const ScheduleReport before = MustReport(*fabric);
  // The same circuits through another row in the middle.
  for (auto& tags : config.tags) {
    for (Tag& tag : tags) tag ^= Tag{5} << 3;
  }
  ASSERT_TRUE(fabric->schedules()->Start(config).ok());
  ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 128);
  const ScheduleReport after = MustReport(*fabric);
  EXPECT_GE(after.turns, before.turns);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(after.slots[i].frames, 16u);
  std::vector<std::pair<Row, Tag>> sent;
  for (const auto& [row, tag] : AllPairsGreedy(fabric->network())) {
    if (OutputOfTag(fabric->network(), tag) == row) continue;
    sent.emplace_back(row, tag);
    sent.emplace_back(row, tag ^ Tag{5} << 3);
  }
  EXPECT_EQ(PacketCounts(s), WalkedCounts(fabric->network(), sent));
}

// Two slots lead from row i to i + 1 and to i + 2, so each packet to i + 3 needs both of them, in
// one order or the other.
TEST_P(ScheduleFabric, FramesGoByAnIntermediateRowOverThePathsOfTwoSlots) {
  FabricConfig dilated = Config(NetworkKind::kDilatedButterfly, 8);
  dilated.network.multiplicity = 2;
  for (const FabricConfig& loaded :
       {Config(NetworkKind::kButterfly, 8), Config(NetworkKind::kTwoFoldButterfly, 8), dilated}) {
    const std::unique_ptr<Fabric> fabric = MustLoad(loaded);
    ASSERT_NE(fabric, nullptr);
    const Network& network = fabric->network();
    ScheduleConfig schedule = Rotor(network, 200e6);
    schedule.tags.resize(2);
    schedule.late = LatePolicy::kVlb;
    ASSERT_TRUE(fabric->schedules()->Start(schedule).ok());
    std::vector<SourceConfig> sources;
    for (Row row = 0; row < 8; ++row) {
      sources.push_back(
          {.rows = {row}, .destination = Destination::kRow, .row = (row + 3) % 8, .packets = 1});
    }
    ASSERT_TRUE(fabric->SetSources(sources).ok());
    const Snapshot s = WaitForDeliveries(*fabric, 8);
    EXPECT_EQ(s.conservation.delivered, 8u);
    EXPECT_EQ(s.conservation.injected, 8u);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    const ScheduleReport report = MustReport(*fabric);
    EXPECT_EQ(report.by_intermediate_row, 8u);
    EXPECT_EQ(report.slots[0].frames, 8u);
    EXPECT_EQ(report.slots[1].frames, 8u);
    EXPECT_EQ(report.slots[0].waited + report.slots[1].waited, 8u) << "each at the row between";
    // A pass may begin its work between two sources, so each row may have had another first slot.
    const std::vector<uint64_t> carried = PacketCounts(s);
    bool found = false;
    for (unsigned later = 0; later < 256 && !found; ++later) {
      std::vector<std::pair<Row, Tag>> legs;
      for (Row row = 0; row < 8; ++row) {
        const Row between = (row + ((later >> row & 1) != 0 ? 2 : 1)) % 8;
        legs.emplace_back(row, GreedyTag(network, row, between));
        legs.emplace_back(between, GreedyTag(network, between, (row + 3) % 8));
      }
      found = carried == WalkedCounts(network, legs);
    }
    EXPECT_TRUE(found) << testing::PrintToString(carried);
  }
}

// With a rotor all pairs reach each other within two slots, a row also itself.
TEST_P(ScheduleFabric, ByIntermediateRowsEveryPairIsServedAlsoOverLinksThatTakeTime) {
  for (const uint64_t rate : {0ul, 1'000'000'000ul}) {
    FabricConfig config = Config(NetworkKind::kTwoFoldButterfly, 16);
    if (rate > 0) config.links.base.bits_per_second = rate;
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    ScheduleConfig schedule = Rotor(fabric->network(), 100'000);
    schedule.late = LatePolicy::kVlb;
    ASSERT_TRUE(fabric->schedules()->Start(schedule).ok());
    ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
    const Snapshot s = WaitForDeliveries(*fabric, 256);
    EXPECT_EQ(s.conservation.delivered, 256u);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    const ScheduleReport report = MustReport(*fabric);
    EXPECT_EQ(report.no_slot, 0u);
    EXPECT_GE(report.by_intermediate_row, 16u) << "at least what a row sends to itself";
    uint64_t entered = 0;
    for (const SlotCounters& slot : report.slots) entered += slot.frames;
    EXPECT_EQ(entered, 256 + report.by_intermediate_row);
    uint64_t crossed = 0;
    for (const uint64_t packets : PacketCounts(s)) crossed += packets;
    EXPECT_EQ(crossed, entered * static_cast<uint64_t>(fabric->network().hops()));
  }
}

TEST_P(ScheduleFabric, AccountsBalanceWhileFramesTurnBackAndSchedulesEnd) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Config(NetworkKind::kButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  ScheduleConfig config = Rotor(fabric->network(), 50'000);
  config.queue_frames = 64;
  config.late = LatePolicy::kVlb;
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = AllRows(16),
                                 .packets_per_second = 20'000,
                                 .destination = Destination::kUniform,
                                 .seed = 3}})
                  .ok());
  for (int round = 0; round < 20; ++round) {
    ++config.id;
    config.late = round % 4 == 2 ? LatePolicy::kWait : LatePolicy::kVlb;
    ASSERT_TRUE(fabric->schedules()->Start(config).ok());
    const uint64_t before = fabric->summary().conservation.delivered;
    while (fabric->summary().conservation.delivered < before + 500) {
      ExpectConserved(fabric->summary());
    }
    if (config.late == LatePolicy::kVlb) {
      EXPECT_GT(MustReport(*fabric).by_intermediate_row, 50u);
    }
    if (round % 3 == 1) {
      ASSERT_TRUE(fabric->schedules()->Stop().ok());
    }
  }
  // In the middle of it.
  ASSERT_TRUE(fabric->Unload().ok());
  const Snapshot last = fabric->summary();
  EXPECT_EQ(last.conservation.in_flight, 0u);
  ExpectConserved(last);
}

// Traffic goes on all the while, also over links that drop packets, so the fabric is never empty.
TEST_P(ScheduleFabric, WorkersLookForFramesThatTurnBackUntilTheLastOneHas) {
  struct Case {
    uint64_t rate;
    uint32_t queue_limit;
    double loss;
    bool link_down;
  };
  for (const Case& links : {Case{0, 0, 0, false}, Case{0, 1, 0, true},
                            Case{20'000'000, 2, 0, false}, Case{100'000'000, 0, 0.1, true}}) {
    FabricConfig config = Config(NetworkKind::kTwoFoldButterfly, 16);
    config.links.base.bits_per_second = links.rate;
    config.links.base.queue_limit = links.queue_limit;
    config.links.base.loss = links.loss;
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    ScheduleConfig schedule = Rotor(fabric->network(), 50'000);
    schedule.late = LatePolicy::kVlb;
    ASSERT_TRUE(fabric
                    ->SetSources({{.rows = AllRows(16),
                                   .packets_per_second = 5'000,
                                   .destination = Destination::kUniform,
                                   .seed = 3}})
                    .ok());
    if (links.link_down) {
      ASSERT_TRUE(fabric->SetLinkUp({.stage = 5, .row = 3}, false).ok());
    }
    const bool fills = links.rate != 0 && links.queue_limit != 0;  // queues, now and then
    EXPECT_FALSE(fabric->schedules()->turns_back());
    for (const bool replaced : {false, true}) {
      ++schedule.id;
      schedule.late = LatePolicy::kVlb;
      ASSERT_TRUE(fabric->schedules()->Start(schedule).ok());
      EXPECT_TRUE(fabric->schedules()->turns_back());
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (MustReport(*fabric).by_intermediate_row < 300 ||
             (fills && DroppedBy(fabric->summary(), DropReason::kQueueFull) == 0)) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
      }
      schedule.late = LatePolicy::kWait;
      ASSERT_TRUE(
          (replaced ? fabric->schedules()->Start(schedule) : fabric->schedules()->Stop().status())
              .ok());
      while (fabric->schedules()->turns_back()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "the last frame never turns back";
        ExpectConserved(fabric->summary());
      }
    }
    ASSERT_TRUE(fabric->schedules()->Stop().ok());
    ASSERT_TRUE(fabric->SetSources({}).ok());
    const Snapshot s =
        WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
    ExpectConserved(s);
    EXPECT_EQ(DroppedBy(s, DropReason::kLinkDown) > 0, links.link_down);
    EXPECT_EQ(DroppedBy(s, DropReason::kLoss) > 0, links.loss > 0);
    ASSERT_TRUE(fabric->Unload().ok());
    EXPECT_EQ(DroppedBy(fabric->summary(), DropReason::kUnloaded), 0u);
  }
}

TEST(ScheduleCheck, IntermediateRowsNeedRoomInTheTagAndTheWholeFabric) {
  const auto refused = [](FabricConfig config) {
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ScheduleConfig schedule = Rotor(fabric->network(), 100'000);
    schedule.late = LatePolicy::kVlb;
    const absl::Status status = fabric->schedules()->Start(schedule);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  FabricConfig wrapped = OneWorker(NetworkKind::kWrappedButterfly, 8);
  wrapped.network.passes = 2;
  EXPECT_THAT(refused(wrapped), HasSubstr("several times"));
  FabricConfig wide = OneWorker(NetworkKind::kDilatedButterfly, 1024);
  wide.network.multiplicity = 8;
  EXPECT_THAT(refused(wide), HasSubstr("late: "));
}

TEST(ScheduleCheck, NamesWhatIsWrong) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const ScheduleConfig good = Rotor(fabric->network(), 100'000);
  const auto refused = [&](const std::function<void(ScheduleConfig&)>& spoil) {
    ScheduleConfig config = good;
    spoil(config);
    const absl::Status status = fabric->schedules()->Start(config);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(fabric->schedules()->Report().ok()) << "nothing runs after a refusal";
    return std::string(status.message());
  };
  EXPECT_THAT(refused([](auto& c) { c.tags.clear(); }), HasSubstr("no slot"));
  EXPECT_THAT(refused([](auto& c) { c.tags[3].pop_back(); }), HasSubstr("tags[3]: has 7 rows"));
  EXPECT_THAT(refused([](auto& c) { c.tags[2][5] = 8; }), HasSubstr("tags[2][5]: 8"));
  EXPECT_THAT(refused([](auto& c) { c.slot_ns = 10; }), HasSubstr("slot_ns: 10"));
  EXPECT_THAT(refused([](auto& c) { c.guard_ns = c.slot_ns; }), HasSubstr("guard_ns"));
  EXPECT_THAT(refused([](auto& c) { c.queue_frames = 0; }), HasSubstr("queue_frames: 0"));
  EXPECT_THAT(refused([](auto& c) { c.waiting_frames = 0; }), HasSubstr("waiting_frames: 0"));
  EXPECT_THAT(refused([](auto& c) { c.tags.resize(1u << 20, c.tags[0]); }), HasSubstr("circuits"));
}

}  // namespace
}  // namespace bfly::dataplane
