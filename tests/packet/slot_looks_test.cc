// SPDX-License-Identifier: Apache-2.0
// How late a worker looks at the slots that packets wait for, and which of them it passes over.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dataplane/core/ledger.h"
#include "dataplane/core/ring.h"
#include "dataplane/slots/slot_gate.h"
#include "dataplane/slots/slot_table.h"
#include "tests/packet/plain_slots.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

TEST(SlotRun, LatenessIsThatOfTheLookWhichLetsPacketsIn) {
  const StraightAndAcross slots;
  SlotRun run = slots.Make(LatePolicy::kWait);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(run.Release(kOrigin + 1, batch.data(), 4), 0);
  batch[0] = StraightAndAcross::From0(1, kOrigin + 1);
  EXPECT_EQ(run.Admit(batch.data(), 1, ledger), 0) << "it waits for slot 1";
  // Slot 1 begins in the middle of a pass, when another packet comes.
  batch[0] = StraightAndAcross::From0(1, kOrigin + kPeriod + 3);
  EXPECT_EQ(run.Admit(batch.data(), 1, ledger), 0) << "behind the one that waits";
  EXPECT_EQ(run.Release(kOrigin + kPeriod + 40, batch.data(), 4), 2);
  EXPECT_EQ(slots.counts->looks.lateness().packets, 1u);
  EXPECT_EQ(slots.counts->looks.lateness().max, 40u);
}

TEST(SlotGate, ASlotCountsOnceForAllGatesOfAWorker) {
  const StraightAndAcross slots;
  const SlotLooks& looks = slots.counts->looks;
  const auto table = std::make_shared<const SlotTable>(
      slots.network, ScheduleConfig{.tags = {{0, 1}, {1, 0}}}, PlainClock());
  SlotRun upper(table, {0, 0}, 10, 10, slots.counts);
  SlotRun lower(table, {1, 1}, 10, 10, slots.counts);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  // From each row a packet comes whose slot is the next one.
  const auto comes = [&](Row row, Row output, uint64_t time) {
    Descriptor packet = StraightAndAcross::From0(output, time);
    packet.row = row;
    EXPECT_EQ((row == 0 ? upper : lower).Admit(&packet, 1, ledger), 0);
  };
  EXPECT_EQ(upper.Release(kOrigin + 1, batch.data(), 4), 0);
  EXPECT_EQ(lower.Release(kOrigin + 1, batch.data(), 4), 0);
  comes(0, 1, kOrigin + 1);
  comes(1, 0, kOrigin + 1);
  EXPECT_EQ(upper.Release(kOrigin + kPeriod + 40, batch.data(), 4), 1);
  EXPECT_EQ(lower.Release(kOrigin + kPeriod + 45, batch.data(), 4), 1);
  EXPECT_EQ(looks.lateness().packets, 1u);
  EXPECT_EQ(looks.lateness().max, 40u) << "the worker's first look";
  EXPECT_EQ(looks.passed_over(), 0u);
  // The worker stands still in the slots 2, 3 and 4, of which packets wait for 2 and 4.
  comes(0, 0, kOrigin + kPeriod + 50);
  comes(1, 1, kOrigin + kPeriod + 50);
  EXPECT_EQ(upper.Release(kOrigin + 5 * kPeriod + 1, batch.data(), 4), 0);
  EXPECT_EQ(lower.Release(kOrigin + 5 * kPeriod + 2, batch.data(), 4), 0);
  EXPECT_EQ(looks.passed_over(), 2u);
  // It looks at slot 6 at the upper gate alone, at slot 7 at the lower one, and at slot 8 at both.
  comes(1, 0, kOrigin + 6 * kPeriod - 1);
  EXPECT_EQ(upper.Release(kOrigin + 6 * kPeriod + 1, batch.data(), 4), 1);
  comes(0, 1, kOrigin + 6 * kPeriod + 2);
  EXPECT_EQ(lower.Release(kOrigin + 7 * kPeriod + 1, batch.data(), 4), 1);
  EXPECT_EQ(upper.Release(kOrigin + 8 * kPeriod + 1, batch.data(), 4), 0);
  EXPECT_EQ(lower.Release(kOrigin + 8 * kPeriod + 2, batch.data(), 4), 1);
  EXPECT_EQ(looks.lateness().packets, 4u) << "slots 1, 6, 7 and 8";
  EXPECT_EQ(looks.passed_over(), 2u);
}

// Gate A looks first, at slot 5; then gate B tells of slots 3 and 4, of which packets waited.
TEST(SlotLooks, SlotsThatAnotherGateWaitedForCountAfterALaterLook) {
  SlotLooks looks(10);
  looks.Look(5, 1);
  looks.PassOver(3, 5);
  looks.PassOver(4, 5);
  looks.PassOver(5, 6);
  EXPECT_EQ(looks.passed_over(), 2u) << "slot 5 had its look";
  looks.PassOver(3, 14);
  EXPECT_EQ(looks.passed_over(), 3u) << "slot 13, which is the next turn of slot 3";
}

TEST(SlotLooks, ASlotThatBeganInAPassAndEndedBeforeTheNextOneWasPassedOver) {
  const StraightAndAcross slots;
  SlotRun run = slots.Make(LatePolicy::kWait);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(run.Release(kOrigin + 1, batch.data(), 4), 0);
  // The first packet waits for slot 1, and the second one comes when slot 1 has begun.
  for (const uint64_t time : {kOrigin + 1, kOrigin + kPeriod + 3}) {
    batch[0] = StraightAndAcross::From0(1, time);
    EXPECT_EQ(run.Admit(batch.data(), 1, ledger), 0);
  }
  EXPECT_EQ(run.Release(kOrigin + 2 * kPeriod + 1, batch.data(), 4), 0);
  EXPECT_EQ(slots.counts->looks.passed_over(), 1u) << "slot 1";
  EXPECT_EQ(run.Release(kOrigin + 3 * kPeriod + 20, batch.data(), 4), 2);
  EXPECT_EQ(slots.counts->looks.passed_over(), 1u);
  EXPECT_EQ(slots.counts->looks.lateness().packets, 1u) << "slot 3";
  EXPECT_EQ(slots.counts->looks.lateness().max, 20u);
}

// Rows 0 and 1 are at one gate, and rows 2 and 3 at another one. Four slots, of which slot k leads
// from row i to row i xor k.
TEST(SlotLooks, OnlySlotsThatPacketsWaitForArePassedOver) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const ScheduleConfig config{.tags = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}}};
  const auto table = std::make_shared<const SlotTable>(network, config, PlainClock());
  const auto counts = std::make_shared<SlotCounts>(4);
  SlotRun upper(table, {0, 1}, 10, 10, counts), lower(table, {2, 3}, 10, 10, counts);
  Ledger ledger;
  std::vector<Descriptor> batch(4);
  const auto comes = [&](SlotRun& run, Row row, Row output) {
    Descriptor packet = StraightAndAcross::From0(output, kOrigin + 1);
    packet.tag = ToWire(output, 2);
    packet.row = row;
    EXPECT_EQ(run.Admit(&packet, 1, ledger), 0);
  };
  EXPECT_EQ(upper.Release(kOrigin + 1, batch.data(), 4), 0);
  EXPECT_EQ(lower.Release(kOrigin + 1, batch.data(), 4), 0);
  comes(upper, 0, 2);  // both wait for slot 2
  comes(lower, 2, 0);
  comes(lower, 3, 0);  // waits for slot 3
  // The slots 1 to 4 pass, a whole cycle: packets waited for 2 at the upper gate, for 2 and 3 at
  // the lower one.
  EXPECT_EQ(upper.Release(kOrigin + 5 * kPeriod, batch.data(), 4), 0);
  EXPECT_EQ(counts->looks.passed_over(), 1u);
  EXPECT_EQ(lower.Release(kOrigin + 5 * kPeriod, batch.data(), 4), 0);
  EXPECT_EQ(counts->looks.passed_over(), 2u);
  // The slots 6 to 16 pass: slot 2 comes as 6, 10 and 14, and slot 3 as 7, 11 and 15.
  EXPECT_EQ(upper.Release(kOrigin + 17 * kPeriod, batch.data(), 4), 0);
  EXPECT_EQ(counts->looks.passed_over(), 5u);
  EXPECT_EQ(lower.Release(kOrigin + 17 * kPeriod, batch.data(), 4), 0);
  EXPECT_EQ(counts->looks.passed_over(), 8u);
  EXPECT_EQ(counts->looks.lateness().packets, 0u);
}

// A packet that turned back came after slot 3 began, and the worker looks only in slot 4.
TEST(SlotLooks, SlotsBeforeAPacketTurnedBackAreNotPassedOver) {
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4}).value();
  const ScheduleConfig config{.tags = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}},
                              .late = LatePolicy::kVlb};
  const auto table = std::make_shared<const SlotTable>(network, config, PlainClock());
  const auto counts = std::make_shared<SlotCounts>(4);
  SlotRun run(table, {0, 3}, 10, 10, counts);
  PassEpoch epoch;
  Ring back(8);
  SlotGate gate({0, 3}, &epoch);
  gate.AddWaysBack({&back});
  gate.SetTurnBack(true);
  gate.Publish(&run);
  Ledger ledger;
  gate.Refresh(ledger);
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(gate.Release(kOrigin + kPeriod + 1, batch.data(), 4, ledger), 0);
  Descriptor packet = StraightAndAcross::From0(3, kOrigin + 3'500);
  packet.tag = table->by_intermediate_row().Join(ToWire(1, 2), ToWire(3, 2));
  ASSERT_EQ(back.Push(&packet, 1), 1u);
  EXPECT_EQ(gate.Release(kOrigin + 4 * kPeriod, batch.data(), 4, ledger), 0);
  EXPECT_EQ(gate.held(), 1u);
  EXPECT_EQ(counts->looks.passed_over(), 0u);
  EXPECT_EQ(gate.Release(kOrigin + 7 * kPeriod + 5, batch.data(), 4, ledger), 1);
  EXPECT_EQ(counts->looks.passed_over(), 0u);
  EXPECT_EQ(counts->looks.lateness().packets, 1u);
  EXPECT_EQ(counts->looks.lateness().max, 5u);
}

TEST(SlotLooks, ARepairKeepsALookThatIsDue) {
  const StraightAndAcross slots;
  SlotRun before = slots.Make(LatePolicy::kWait), after = slots.Make(LatePolicy::kWait);
  PassEpoch epoch;
  SlotGate gate({0, 1}, &epoch);
  Ledger ledger;
  gate.Publish(&before);
  gate.Refresh(ledger);
  std::vector<Descriptor> batch(4);
  EXPECT_EQ(gate.Release(kOrigin + 1, batch.data(), 4, ledger), 0);
  for (const uint64_t time : {kOrigin + 1, kOrigin + kPeriod + 3}) {
    batch[0] = StraightAndAcross::From0(1, time);
    EXPECT_EQ(gate.Admit(batch.data(), 1, ledger), 0);
  }
  gate.Publish(&after);
  gate.Refresh(ledger);
  EXPECT_EQ(gate.Release(kOrigin + kPeriod + 30, batch.data(), 4, ledger), 2);
  EXPECT_EQ(slots.counts->looks.lateness().packets, 1u);
  EXPECT_EQ(slots.counts->looks.lateness().max, 30u);
}

}  // namespace
}  // namespace bfly::dataplane
