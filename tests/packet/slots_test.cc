// SPDX-License-Identifier: Apache-2.0
// Slots without workers: their clock, the table of circuits, and the packets that wait, against a
// plain simulation.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "dataplane/slots/slot_gate.h"
#include "dataplane/slots/slot_table.h"
#include "tests/packet/plain_slots.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

TEST(SlotClock, AllTicksOfASlotAreInIt) {
  const SlotClock clock = PlainClock();
  EXPECT_EQ(clock.At(0), 0u);
  EXPECT_EQ(clock.At(kOrigin), 0u);
  EXPECT_EQ(clock.At(kOrigin + 999), 0u);
  EXPECT_EQ(clock.At(kOrigin + 1000), 1u);
  EXPECT_EQ(clock.Begin(7), kOrigin + 7000);
  EXPECT_EQ(clock.Close(7), kOrigin + 7950);
}

TEST(SlotClock, RoundingDoesNotAddUp) {
  // 50 us at 2,194,843,657 Hz are 109742.18285 ticks.
  const uint64_t hz = 2'194'843'657;
  const uint64_t period = SlotClock::PeriodOf(50'000, hz);
  const SlotClock clock(kOrigin, period, 0);
  // After 20,000 slots a second has gone by.
  EXPECT_NEAR(static_cast<double>(clock.Begin(20'000) - kOrigin), static_cast<double>(hz), 1.0);
  // After a year it is off by less than the slots' own rounding, 2^-24 of a tick each, makes.
  const uint64_t year = 20'000ull * 86'400 * 365;
  EXPECT_NEAR(
      static_cast<double>(clock.Begin(year) - kOrigin) / (static_cast<double>(hz) * 86'400 * 365),
      1.0, 1e-12);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t slot = random() % year;
    EXPECT_EQ(clock.At(clock.Begin(slot)), slot);
    EXPECT_EQ(clock.At(clock.Begin(slot + 1) - 1), slot);
  }
}

// A network, and random slots on it: some rows have no circuit, some pairs come several times.
struct RandomSlots {
  RandomSlots(NetworkKind kind, uint32_t rows, uint32_t slots, uint64_t seed)
      : network(Network::Make({.kind = kind, .rows = rows, .seed = 1}).value()), random(seed) {
    std::vector<Row> outputs(rows);
    for (Row row = 0; row < rows; ++row) outputs[row] = row;
    for (uint32_t slot = 0; slot < slots; ++slot) {
      // Every third slot is a slot of before.
      if (slot % 3 == 2) {
        output.push_back(output[random() % slot]);
      } else {
        std::shuffle(outputs.begin(), outputs.end(), random);
        output.emplace_back(outputs.begin(), outputs.end());
        for (int& o : output.back()) {
          if (random() % 8 == 0) o = -1;
        }
      }
      std::vector<Tag>& tags = config.tags.emplace_back();
      for (Row row = 0; row < rows; ++row) {
        const int o = output.back()[row];
        tags.push_back(o < 0 ? kNoTag : GreedyTag(network, row, static_cast<Row>(o)));
      }
    }
  }
  WireTag WireTo(Row row, Row to) const {
    return ToWire(GreedyTag(network, row, to), network.tag_layout().bits());
  }

  Network network;
  std::mt19937_64 random;
  ScheduleConfig config;
  std::vector<std::vector<int>> output;  // [slot][row]; -1: no circuit
};

class SlotTableTest : public testing::TestWithParam<NetworkKind> {};
INSTANTIATE_TEST_SUITE_P(Networks, SlotTableTest,
                         testing::Values(NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                                         NetworkKind::kBenes, NetworkKind::kHypercube,
                                         NetworkKind::kRandomlyWiredButterfly));

TEST_P(SlotTableTest, FindsTheSlotsOfEveryPair) {
  const RandomSlots slots(GetParam(), 16, 9, 5);
  const SlotTable table(slots.network, slots.config, PlainClock());
  for (Row row = 0; row < 16; ++row) {
    for (Row to = 0; to < 16; ++to) {
      std::vector<uint32_t> serving;
      for (uint32_t slot = 0; slot < 9; ++slot) {
        if (slots.output[slot][row] == static_cast<int>(to)) serving.push_back(slot);
      }
      const uint32_t first = table.FirstSlot(row, slots.WireTo(row, to));
      if (serving.empty()) {
        EXPECT_EQ(first, SlotTable::kNoSlot);
        continue;
      }
      ASSERT_EQ(first, serving.front());
      for (size_t i = 0; i < serving.size(); ++i) {
        EXPECT_EQ(table.QueueOf(serving[i], row), first);
        EXPECT_EQ(table.NextSame(serving[i], row), serving[(i + 1) % serving.size()]);
        EXPECT_TRUE(table.LeadsThere(table.tag(serving[i], row), slots.WireTo(row, to)));
      }
    }
  }
}

// Does plainly what the gate has to do: a queue for each pair of rows.
struct PlainGate {
  void Pass(const RandomSlots& slots, uint64_t now, const std::vector<Descriptor>& arrivals,
            LatePolicy late, size_t per_queue, size_t total) {
    entered.clear();
    const uint64_t turn = (now - kOrigin) / kPeriod;
    const auto& output = slots.output[turn % slots.output.size()];
    const auto& next = slots.output[(turn + 1) % slots.output.size()];
    const bool open = (now - kOrigin) % kPeriod < kPeriod - kGuard;
    for (Row row = 0; open && row < output.size(); ++row) {
      auto& queue = queues[{row, output[row]}];
      if (queue.empty()) continue;
      entered[row].insert(entered[row].end(), queue.begin(), queue.end());
      waiting -= queue.size();
      queue.clear();
    }
    for (const Descriptor& packet : arrivals) {
      const Row row = packet.row;
      const auto to = static_cast<int>(packet.bytes);  // the test notes the output there
      const bool by_any_row = late == LatePolicy::kVlb;
      const bool for_next = by_any_row && next[row] >= 0;
      auto& queue = queues[{row, for_next ? next[row] : to}];
      const bool served =
          std::any_of(slots.output.begin(), slots.output.end(),
                      [&](const std::vector<int>& outputs) { return outputs[row] == to; });
      if (open && (output[row] == to || (by_any_row && output[row] >= 0))) {
        entered[row].push_back(packet.time);
      } else if (!served && !for_next) {
        ++no_slot;
      } else if (late == LatePolicy::kDrop) {
        ++missed;
      } else if (queue.size() == per_queue) {
        ++full;
      } else if (waiting == total) {
        ++no_memory;
      } else {
        queue.push_back(packet.time);
        ++waiting;
      }
    }
  }
  std::map<std::pair<Row, int>, std::deque<uint64_t>> queues;
  std::map<Row, std::vector<uint64_t>> entered;  // by row: packets by their birth, in order
  size_t waiting = 0;
  uint64_t no_slot = 0, missed = 0, full = 0, no_memory = 0;
};

class SlotRunTest
    : public testing::TestWithParam<std::tuple<LatePolicy, uint32_t, uint32_t, uint64_t>> {};
INSTANTIATE_TEST_SUITE_P(Limits, SlotRunTest,
                         testing::Values(std::tuple{LatePolicy::kWait, 1000u, 100'000u, 1u},
                                         std::tuple{LatePolicy::kWait, 3u, 100'000u, 2u},
                                         std::tuple{LatePolicy::kWait, 1000u, 40u, 3u},
                                         std::tuple{LatePolicy::kDrop, 10u, 100u, 4u},
                                         std::tuple{LatePolicy::kVlb, 1000u, 100'000u, 5u},
                                         std::tuple{LatePolicy::kVlb, 3u, 100'000u, 6u}));

TEST_P(SlotRunTest, DoesWhatAPlainGateDoes) {
  const auto [late, per_queue, total, seed] = GetParam();
  RandomSlots slots(NetworkKind::kTwoFoldButterfly, 128, 8, seed);
  slots.config.late = late;
  const auto table = std::make_shared<const SlotTable>(slots.network, slots.config, PlainClock());
  const auto counts = std::make_shared<SlotCounts>(8);
  // Only a block of the rows: its words of bits are not whole.
  const RowRange rows{16, 111};
  SlotRun run(table, rows, per_queue, total, counts);
  PlainGate plain;
  Ledger ledger;
  uint64_t now = kOrigin, arrived = 0, entered = 0, by_others = 0;
  std::vector<Descriptor> batch(100'000);
  for (int pass = 0; pass < 3'000; ++pass) {
    // Most passes are short; some leave slots out.
    now += slots.random() % 20 == 0 ? slots.random() % 5'000 : slots.random() % 300;
    std::vector<Descriptor> arrivals(slots.random() % 40);
    for (Descriptor& packet : arrivals) {
      packet = {};
      packet.row = rows.first + static_cast<Row>(slots.random() % 96);
      const Row to = static_cast<Row>(
          slots.random() % 4 == 0 ? slots.random() % 128
                                  : std::max(0, slots.output[slots.random() % 8][packet.row]));
      packet.tag = slots.WireTo(packet.row, to);
      packet.bytes = static_cast<uint16_t>(to);
      packet.time = ++arrived;
    }
    plain.Pass(slots, now, arrivals, late, per_queue, total);

    int count = run.Release(now, batch.data(), 90'000);
    std::copy(arrivals.begin(), arrivals.end(), batch.begin() + count);
    count += run.Admit(batch.data() + count, static_cast<int>(arrivals.size()), ledger);
    std::map<Row, std::vector<uint64_t>> by_row;
    for (int i = 0; i < count; ++i) {
      by_row[batch[i].row].push_back(batch[i].time);
      ASSERT_TRUE(batch[i].fixed);
      const WireTag greedy = slots.WireTo(batch[i].row, static_cast<Row>(batch[i].bytes));
      if (late != LatePolicy::kVlb || batch[i].tag == greedy) {
        ASSERT_EQ(batch[i].tag, greedy);
        continue;
      }
      // First to the output of the slot, then to its own.
      const int bits = slots.network.tag_layout().bits();
      const auto& output = slots.output[(now - kOrigin) / kPeriod % 8];
      ASSERT_EQ(static_cast<int>(OutputOfTag(slots.network, FromWire(batch[i].tag, bits))),
                output[batch[i].row]);
      const WireTag behind = batch[i].tag << bits;
      ASSERT_TRUE(TagsByIntermediateRow::TurnsBack(behind));
      const WireTag rest = table->by_intermediate_row().Rest(behind);
      ASSERT_EQ(OutputOfTag(slots.network, FromWire(rest, bits)), batch[i].bytes);
      ++by_others;
    }
    ASSERT_EQ(by_row, plain.entered) << "pass " << pass;
    entered += static_cast<uint64_t>(count);
    ASSERT_EQ(run.held(), plain.waiting);
    ASSERT_EQ(arrived, entered + run.held() + ledger.dropped_total());
  }
  uint64_t missed = 0, full = 0, waiting = 0, frames = 0;
  for (int i = 0; i < 8; ++i) {
    missed += counts->slots[i].missed;
    full += counts->slots[i].full;
    waiting += counts->slots[i].waiting;
    frames += counts->slots[i].frames;
  }
  EXPECT_EQ(std::tuple(missed, full, waiting, frames),
            std::tuple(plain.missed, plain.full, plain.waiting, entered));
  EXPECT_EQ(counts->no_slot, plain.no_slot);
  EXPECT_EQ(counts->no_memory, plain.no_memory);
  EXPECT_GT(entered, 1'000u);
  EXPECT_EQ(counts->by_intermediate_row, by_others);
  EXPECT_EQ(by_others > 1'000, late == LatePolicy::kVlb);
  EXPECT_GT(plain.no_slot, late == LatePolicy::kVlb ? 10u : 100u);
  // Each case reaches the limit that it is about.
  EXPECT_EQ(plain.missed > 0, late == LatePolicy::kDrop);
  EXPECT_EQ(plain.full > 0, per_queue == 3);
  EXPECT_EQ(plain.no_memory > 0, total == 40);
}

}  // namespace
}  // namespace bfly::dataplane
