// SPDX-License-Identifier: Apache-2.0
// What waits at a gate: turns of rows, the limits of a slot, and schedules that take over.
#include "dataplane/slots/slot_gate.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "dataplane/core/ledger.h"
#include "dataplane/slots/slot_table.h"
#include "tests/packet/plain_slots.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

// One slot leads from each row to itself, the other nowhere.
TEST(SlotRun, RowsTakeTurnsWhereThereIsLittleRoom) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const ScheduleConfig config{.tags = {{0, 1, 2, 3}, std::vector<Tag>(4, kNoTag)}};
  const auto table = std::make_shared<const SlotTable>(network, config, PlainClock());
  const auto counts = std::make_shared<SlotCounts>(2);
  SlotRun run(table, {0, 3}, 1000, 10'000, counts);
  Ledger ledger;
  std::vector<Descriptor> batch(400);
  EXPECT_EQ(run.Release(kOrigin + kPeriod, batch.data(), 400), 0) << "nothing waits yet";
  for (int i = 0; i < 400; ++i) {
    const auto row = static_cast<Row>(i % 4);
    batch[i] = {.tag = ToWire(row, 2),
                .mbuf = nullptr,
                .time = 100u + i,
                .row = row,
                .bytes = 64,
                .input = 0};
  }
  EXPECT_EQ(run.Admit(batch.data(), 400, ledger), 0) << "it is the turn of the empty slot";
  EXPECT_EQ(run.NextDue(), kOrigin + 2 * kPeriod);
  EXPECT_EQ(run.Release(kOrigin + 2 * kPeriod - 1, batch.data(), 400), 0);
  // 64 places: each row sends 16 packets, its first ones in their order.
  ASSERT_EQ(run.Release(kOrigin + 2 * kPeriod, batch.data(), 64), 64);
  std::map<Row, uint64_t> next;
  for (int i = 0; i < 64; ++i) {
    const Row row = batch[i].row;
    EXPECT_EQ(batch[i].time, 100u + row + 4 * next[row]++);
    EXPECT_EQ(batch[i].arrival, kOrigin + 2 * kPeriod) << "it enters when its slot begins";
  }
  for (Row row = 0; row < 4; ++row) EXPECT_EQ(next[row], 16u);
  // The guard: nothing enters, neither what waited nor what comes.
  EXPECT_EQ(run.Release(kOrigin + 3 * kPeriod - kGuard, batch.data(), 64), 0);
  EXPECT_EQ(run.Release(kOrigin + 3 * kPeriod - kGuard - 1, batch.data(), 400), 336);
  EXPECT_EQ(run.held(), 0u);
  const SlotCounts::Slot& slot = counts->slots[0];
  EXPECT_EQ(slot.frames, 400u);
  EXPECT_EQ(slot.bytes, 400u * 64);
  EXPECT_EQ(slot.waited, 400u);
  EXPECT_EQ(slot.used, 0u) << "the turn has not ended";
  EXPECT_EQ(counts->longest_wait, kOrigin + 3 * kPeriod - kGuard - 1 - (100 + 64));
  EXPECT_EQ(run.Release(kOrigin + 3 * kPeriod, batch.data(), 64), 0);
  EXPECT_EQ(slot.used, 4u) << "one turn, four rows";
}

TEST(SlotRun, EveryRowHasItsTurnHoweverMuchWaits) {
  constexpr uint32_t kRows = 128;
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = kRows}).value();
  ScheduleConfig config{.tags = {std::vector<Tag>(kRows), std::vector<Tag>(kRows, kNoTag)}};
  for (Row row = 0; row < kRows; ++row) config.tags[0][row] = GreedyTag(network, row, row);
  SlotRun run(std::make_shared<const SlotTable>(network, config, PlainClock()), {0, kRows - 1},
              1000, 100'000, std::make_shared<SlotCounts>(2));
  Ledger ledger;
  std::vector<Descriptor> batch(256);
  EXPECT_EQ(run.Release(kOrigin + kPeriod, batch.data(), 256), 0);
  for (Row row = 0; row < kRows; ++row) {
    const WireTag tag = ToWire(GreedyTag(network, row, row), network.tag_layout().bits());
    for (int i = 0; i < 100; ++i) {
      Descriptor packet{
          .tag = tag, .mbuf = nullptr, .time = 100, .row = row, .bytes = 64, .input = 0};
      ASSERT_EQ(run.Admit(&packet, 1, ledger), 0);
    }
  }
  // Eight passes have room for 16 packets of each of the 128 rows.
  std::map<Row, int> sent;
  for (int pass = 0; pass < 8; ++pass) {
    const int count = run.Release(kOrigin + 2 * kPeriod + pass, batch.data(), 256);
    for (int i = 0; i < count; ++i) ++sent[batch[i].row];
  }
  for (Row row = 0; row < kRows; ++row) EXPECT_EQ(sent[row], 16) << row;
}

// As in runs of hours in which many packets wait.
TEST(SlotRun, WaitingTimesMayAddUpToMoreThan64Bits) {
  const StraightAndAcross slots;
  SlotRun run = slots.Make(LatePolicy::kWait);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  constexpr uint64_t kHours = uint64_t{1} << 60;
  uint64_t straight = kOrigin + kHours / (2 * kPeriod) * (2 * kPeriod);  // begins
  for (int i = 0; i < 20; ++i, straight += 2 * kPeriod) {
    EXPECT_EQ(run.Release(straight, batch.data(), 4), 0);
    batch[0] = StraightAndAcross::From0(1, 1);
    EXPECT_EQ(run.Admit(batch.data(), 1, ledger), 0) << "it waits for slot 1";
    EXPECT_EQ(run.Release(straight + kPeriod, batch.data(), 4), 1);
  }
  const SlotCounts::Slot& across = slots.counts->slots[1];
  ASSERT_EQ(across.waited, 20u);
  const double mean = static_cast<double>(across.wait_ticks.load()) / 20;
  EXPECT_NEAR(mean / static_cast<double>(kHours), 1, 1e-9);
}

TEST(SlotRun, APacketEntersNoEarlierThanItsSlotBegins) {
  const StraightAndAcross slots;
  SlotRun run = slots.Make(LatePolicy::kWait);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(run.Release(kOrigin + kPeriod + 5, batch.data(), 4), 0);
  // It was born in the slot before, and the worker looks only now.
  batch[0] = StraightAndAcross::From0(1, kOrigin + 17);
  ASSERT_EQ(run.Admit(batch.data(), 1, ledger), 1);
  EXPECT_EQ(ArrivalOf(batch[0]), kOrigin + kPeriod);
  EXPECT_EQ(batch[0].time, kOrigin + 17) << "its birth stays";
}

TEST(SlotRun, APacketThatCameInTheGuardWaitsAlsoIfThePassBeganBefore) {
  for (const LatePolicy late : {LatePolicy::kWait, LatePolicy::kDrop}) {
    const StraightAndAcross slots;
    SlotRun run = slots.Make(late);
    Ledger ledger;
    std::vector<Descriptor> batch(4);
    EXPECT_EQ(run.Release(kOrigin + kPeriod - kGuard - 1, batch.data(), 4), 0);
    batch[0] = StraightAndAcross::From0(0, kOrigin + kPeriod - kGuard - 1);
    batch[1] = StraightAndAcross::From0(0, kOrigin + kPeriod - kGuard);
    ASSERT_EQ(run.Admit(batch.data(), 2, ledger), 1);
    EXPECT_EQ(batch[0].time, kOrigin + kPeriod - kGuard - 1);
    EXPECT_EQ(run.held(), late == LatePolicy::kWait ? 1u : 0u);
    // In the next slot, whose circuit leads across.
    batch[0] = StraightAndAcross::From0(1, kOrigin + kPeriod + 3);
    EXPECT_EQ(run.Admit(batch.data(), 1, ledger), 1);
    EXPECT_EQ(slots.counts->slots[1].frames, 1u);
  }
}

// Slot k leads from row i to row i xor k.
SlotRun FourSlots(LatePolicy late, const std::shared_ptr<SlotCounts>& counts) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const ScheduleConfig config{.tags = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}},
                              .late = late};
  return SlotRun(std::make_shared<const SlotTable>(network, config, PlainClock()), {0, 3}, 10, 10,
                 counts);
}

// The worker may lose its CPU between the beginning of its pass and the moment at which it takes
// packets in.
TEST(SlotRun, APacketThatComesSlotsAfterThePassBeganFindsTheSlotThatIsOn) {
  for (const LatePolicy late : {LatePolicy::kWait, LatePolicy::kDrop, LatePolicy::kVlb}) {
    for (const uint64_t slot : {3, 7}) {
      const auto counts = std::make_shared<SlotCounts>(4);
      SlotRun run = FourSlots(late, counts);
      Ledger ledger;
      Descriptor packet{.tag = ToWire(3, 2),
                        .mbuf = nullptr,
                        .time = kOrigin + slot * kPeriod + 200,
                        .row = 0,
                        .bytes = 64,
                        .input = 0};
      EXPECT_EQ(run.Release(kOrigin, &packet, 0), 0);
      EXPECT_EQ(run.Admit(&packet, 1, ledger), 1);
      EXPECT_EQ(counts->slots[3].frames, 1u);
      if (late != LatePolicy::kVlb) continue;
      // In the guard, which the next pass finds over.
      packet = {.tag = ToWire(2, 2),
                .mbuf = nullptr,
                .time = kOrigin + (slot + 1) * kPeriod - kGuard,
                .row = 0,
                .bytes = 64,
                .input = 0};
      EXPECT_EQ(run.Admit(&packet, 1, ledger), 0);
      EXPECT_EQ(run.Release(kOrigin + (slot + 1) * kPeriod, &packet, 1), 1);
      EXPECT_EQ(counts->slots[0].frames, 1u);
      EXPECT_EQ(counts->by_intermediate_row, 1u) << "slot 0 leads to row 0";
    }
  }
}

TEST(TurnBackOut, CountsThePacketsForWhichThereIsNoRoom) {
  Ring ring(64);
  TurnBackOut way({0}, {&ring});
  Ledger ledger;
  const std::vector<Descriptor> packets(
      100, {.tag = ToWire(2, 2), .mbuf = nullptr, .time = 1, .row = 0, .bytes = 64, .input = 0});
  std::vector<Descriptor> leaving(100);
  EXPECT_EQ(way.Take(packets.data(), 100, leaving.data(), ledger), 0);
  way.HandOver();
  EXPECT_EQ(ring.waiting(), 63u);
  EXPECT_EQ(way.dropped(), 37u);
  EXPECT_EQ(ledger.dropped[static_cast<int>(DropReason::kQueueMemory)], 37u);
  EXPECT_EQ(way.ended(), 100u);
}

// The worker calls a gate in its passes only while it is in use.
TEST(SlotGate, IsInUseWhileAScheduleRunsOrPacketsMayTurnBack) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  ScheduleConfig config{.tags = {{1, 0, 3, 2}}, .late = LatePolicy::kVlb};
  SlotRun run(std::make_shared<const SlotTable>(network, config, PlainClock()), {0, 3}, 10, 10,
              std::make_shared<SlotCounts>(1));
  PassEpoch epoch;
  SlotGate gate({0, 3}, &epoch);
  Ring ring(64);
  Ledger ledger;
  gate.AddWaysBack({&ring});
  gate.Refresh(ledger);
  EXPECT_FALSE(gate.in_use());
  gate.SetTurnBack(true);
  gate.Publish(&run);
  gate.Refresh(ledger);
  EXPECT_TRUE(gate.in_use());
  // Two packets to row 2, of which the circuit of the slot leads away.
  std::vector<Descriptor> batch(2);
  EXPECT_EQ(gate.Release(kOrigin, batch.data(), 2, ledger), 0);
  for (Descriptor& packet : batch)
    packet = {.tag = ToWire(2, 2), .mbuf = nullptr, .time = 1, .row = 0, .bytes = 64, .input = 0};
  EXPECT_EQ(gate.Admit(batch.data(), 2, ledger), 2);
  EXPECT_EQ(gate.sent_by_intermediate_row(), 0u) << "the schedule may send more";
  gate.Publish(nullptr);
  gate.Refresh(ledger);
  EXPECT_EQ(gate.sent_by_intermediate_row(), 2u);
  EXPECT_TRUE(gate.in_use()) << "they may turn back here";
  gate.SetTurnBack(false);
  gate.Refresh(ledger);
  EXPECT_FALSE(gate.in_use());
}

// A repair leads the circuits of a schedule over other paths. Packets that wait to go by an
// intermediate row still do, and what is counted goes on in the middle of the slot.
TEST(SlotGate, ARepairedScheduleGoesOn) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const ScheduleConfig config{.tags = {{1, 0, 3, 2}}, .late = LatePolicy::kVlb};
  const auto table = std::make_shared<const SlotTable>(network, config, PlainClock());
  const auto counts = std::make_shared<SlotCounts>(1);
  SlotRun before(table, {0, 3}, 10, 10, counts), after(table, {0, 3}, 10, 10, counts);
  PassEpoch epoch;
  SlotGate gate({0, 3}, &epoch);
  Ledger ledger;
  gate.Publish(&before);
  gate.Refresh(ledger);
  const auto to2 = [](uint64_t time) {
    return Descriptor{
        .tag = ToWire(2, 2), .mbuf = nullptr, .time = time, .row = 0, .bytes = 64, .input = 0};
  };
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(gate.Release(kOrigin + 1, batch.data(), 4, ledger), 0);
  batch[0] = to2(kOrigin + 1);
  EXPECT_EQ(gate.Admit(batch.data(), 1, ledger), 1);
  EXPECT_EQ(gate.Release(kOrigin + kPeriod - kGuard, batch.data(), 4, ledger), 0);
  batch[0] = to2(kOrigin + kPeriod - kGuard);
  batch[1] = to2(kOrigin + kPeriod - kGuard);
  EXPECT_EQ(gate.Admit(batch.data(), 2, ledger), 0) << "in the guard";

  gate.Publish(&after);
  gate.Refresh(ledger);
  EXPECT_EQ(gate.held(), 2u);
  EXPECT_EQ(ledger.dropped_total(), 0u);
  EXPECT_EQ(gate.Release(kOrigin + kPeriod, batch.data(), 4, ledger), 2);
  EXPECT_EQ(counts->by_intermediate_row, 3u);
  EXPECT_EQ(counts->slots[0].used, 1u) << "row 0 in the first turn, once";
}

// The first port of a fabric brings a limit with it: fewer frames may wait from then on.
TEST(SlotGate, ALowerLimitDropsWhatWaitsBeyondIt) {
  const StraightAndAcross slots;
  SlotRun before = slots.Make(LatePolicy::kWait, 10), after = slots.Make(LatePolicy::kWait, 1);
  PassEpoch epoch;
  SlotGate gate({0, 1}, &epoch);
  Ledger ledger;
  gate.Publish(&before);
  gate.Refresh(ledger);
  std::vector<Descriptor> batch(3, StraightAndAcross::From0(1, kOrigin));
  EXPECT_EQ(gate.Release(kOrigin + 1, batch.data(), 0, ledger), 0);
  EXPECT_EQ(gate.Admit(batch.data(), 3, ledger), 0) << "the circuit leads straight on";
  gate.Publish(&after);
  gate.Refresh(ledger);
  EXPECT_EQ(gate.held(), 1u);
  EXPECT_EQ(slots.counts->no_memory, 2u);
  EXPECT_EQ(slots.counts->slots[1].waiting, 1u);
  EXPECT_EQ(ledger.dropped[static_cast<int>(DropReason::kQueueMemory)], 2u);
}

TEST(SlotGate, AnotherScheduleTakesOverWhatWaits) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const auto make = [&](std::vector<std::vector<Tag>> tags) {
    ScheduleConfig config{.tags = std::move(tags)};
    return std::make_shared<const SlotTable>(network, config, PlainClock());
  };
  const std::vector<Tag> none(4, kNoTag);
  const auto first = std::make_shared<SlotCounts>(3), second = std::make_shared<SlotCounts>(2);
  SlotRun before(make({none, {1, 0, 3, 2}, {2, 3, 0, 1}}), {0, 3}, 10, 10, first);
  SlotRun after(make({{1, 0, 3, 2}, none}), {0, 3}, 1, 10, second);
  PassEpoch epoch;
  SlotGate gate({0, 3}, &epoch);
  Ledger ledger;
  gate.Publish(&before);
  gate.Refresh(ledger);
  ASSERT_EQ(gate.run(), &before);
  std::vector<Descriptor> batch(8);
  EXPECT_EQ(gate.run()->Release(kOrigin, batch.data(), 8), 0);
  // Two packets to row 1 and one to row 2, all from row 0.
  for (int i = 0; i < 3; ++i) {
    batch[i] = {.tag = ToWire(i < 2 ? 1 : 2, 2),
                .mbuf = nullptr,
                .time = 1u + i,
                .row = 0,
                .bytes = 64,
                .input = 0};
  }
  EXPECT_EQ(gate.run()->Admit(batch.data(), 3, ledger), 0);
  EXPECT_EQ(gate.run()->held(), 3u);

  gate.Publish(&after);
  gate.Refresh(ledger);
  // One waits on, one finds the shorter queue full, and the third one's pair has no slot any more.
  EXPECT_EQ(gate.run()->held(), 1u);
  EXPECT_EQ(second->slots[0].full, 1u);
  EXPECT_EQ(second->no_slot, 1u);
  EXPECT_EQ(first->slots[1].waiting, 0u);
  EXPECT_EQ(gate.run()->Release(kOrigin + 1900, batch.data(), 8), 0);
  ASSERT_EQ(gate.run()->Release(kOrigin + 2000, batch.data(), 8), 1);
  EXPECT_EQ(batch[0].time, 1u) << "the first one";

  batch[0] = {.tag = ToWire(1, 2), .mbuf = nullptr, .time = 9, .row = 0, .bytes = 64, .input = 0};
  EXPECT_EQ(gate.run()->Release(kOrigin + 3000, batch.data() + 1, 1), 0);
  EXPECT_EQ(gate.run()->Admit(batch.data(), 1, ledger), 0);
  gate.Publish(nullptr);
  gate.Refresh(ledger);
  EXPECT_EQ(gate.run(), nullptr);
  EXPECT_EQ(second->slots[0].missed, 1u);
  EXPECT_EQ(ledger.dropped_total(), 3u);
}

}  // namespace
}  // namespace bfly::dataplane
