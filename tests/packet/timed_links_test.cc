// SPDX-License-Identifier: Apache-2.0
// Links that take time, against a plain simulation: whenever the worker looks, packets arrive at
// the times of the simulation. One tick is a nanosecond here.
#include "dataplane/stages/timed_links.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "dataplane/stages/stage.h"
#include "tests/packet/link_reference.h"

namespace bfly::dataplane {
namespace {

constexpr double kHz = 1e9;
constexpr uint32_t kLinks = 4;
constexpr size_t kStoreBytes = 1 << 20;

struct Offered {
  uint64_t arrival;
  uint32_t link;
  uint16_t bytes;
  int priority;
};

struct Bench {
  explicit Bench(const LinkPlan& plan, size_t store_bytes = kStoreBytes)
      : store(store_bytes), table(plan, 0, kLinks / 2, 2, kHz) {
    links.SetTable(&table, 0);
  }
  static Descriptor ToDescriptor(const Offered& packet, uint32_t id) {
    return {.tag = kWireTagDone,
            .mbuf = nullptr,
            .time = packet.arrival,
            .priority = static_cast<uint64_t>(packet.priority & 7),
            .row = id,
            .bytes = packet.bytes,
            .input = 0};
  }
  void Enter(const Offered& packet, uint32_t id) {
    links.Enter(ToDescriptor(packet, id), packet.link, ledger);
  }
  // The packets from number `first` on, in one batch. Release(now) must follow.
  void EnterLast(const std::vector<Offered>& packets, size_t first, size_t end, uint64_t now) {
    batch.clear();
    std::vector<uint32_t> of;
    for (size_t id = first; id < end; ++id) {
      batch.push_back(ToDescriptor(packets[id], static_cast<uint32_t>(id)));
      of.push_back(packets[id].link);
    }
    links.EnterLast(batch.data(), of.data(), static_cast<int>(batch.size()), now, ledger);
  }
  // What has arrived by `now`, by id.
  void Release(uint64_t now) {
    Descriptor out[7];
    while (const int count = links.Release(now, out, 7, ledger)) {
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(arrived.emplace(out[i].row, out[i].arrival).second);
        EXPECT_GE(out[i].arrival, last) << "out of order";
        last = out[i].arrival;
      }
    }
  }
  uint64_t dropped(DropReason reason) const { return ledger.dropped[static_cast<int>(reason)]; }

  PacketStore store;
  LinkCold cold[kLinks];
  ShapeTable table;
  TimedLinks links{kLinks, 0, &store, cold, 7};
  Ledger ledger;
  std::vector<Descriptor> batch;
  std::map<uint32_t, uint64_t> arrived;
  uint64_t last = 0;
};

// One packet in a few hundred ns on average, so that queues form and empty again.
std::vector<Offered> Draw(std::mt19937& random, int count) {
  std::vector<Offered> packets;
  uint64_t now = 1000;
  for (int i = 0; i < count; ++i) {
    // Often several at one moment.
    if (random() % 4 != 0) now += random() % 1500;
    packets.push_back({now, static_cast<uint32_t>(random() % kLinks),
                       static_cast<uint16_t>(64 + random() % 1455),
                       static_cast<int>(random() % 3)});
  }
  return packets;
}

void Compare(Discipline discipline, uint32_t queue_limit, uint64_t rate, uint32_t seed) {
  SCOPED_TRACE(testing::Message() << "discipline " << static_cast<int>(discipline) << " limit "
                                  << queue_limit << " rate " << rate << " seed " << seed);
  std::mt19937 random(seed);
  const uint64_t delay = random() % 3 == 0 ? 0 : random() % 20000;
  const std::vector<Offered> packets = Draw(random, 150);
  Bench bench({.base = {.bits_per_second = rate,
                        .delay_ns = delay,
                        .queue_limit = queue_limit,
                        .discipline = discipline,
                        .loss = 0},
               .rules = {}});
  // The worker looks now and then, and sometimes only after a very long time.
  for (size_t i = 0; i < packets.size();) {
    const uint64_t look = packets[i].arrival + (random() % 3 == 0 ? random() % 100000 : 0);
    if (random() % 2 == 0) bench.links.ExpectRelease(look);
    const size_t first = i;
    while (i < packets.size() && packets[i].arrival <= look) ++i;
    if (random() % 2 == 0) {
      bench.EnterLast(packets, first, i, look);
    } else {
      for (size_t id = first; id < i; ++id) bench.Enter(packets[id], static_cast<uint32_t>(id));
    }
    bench.Release(look);
    EXPECT_EQ(bench.links.held() + bench.arrived.size() + bench.ledger.dropped_total(), i);
    EXPECT_GT(bench.links.NextRelease(), look);
  }
  bench.Release(UINT64_MAX - 1);
  EXPECT_EQ(bench.links.held(), 0u);
  EXPECT_EQ(bench.links.NextRelease(), UINT64_MAX);

  for (uint32_t link = 0; link < kLinks; ++link) {
    std::vector<ReferencePacket> of_link;
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < packets.size(); ++i) {
      if (packets[i].link != link) continue;
      of_link.push_back(
          {static_cast<long double>(packets[i].arrival), packets[i].bytes, packets[i].priority});
      ids.push_back(static_cast<uint32_t>(i));
    }
    const auto left = ReferenceDepartures(
        of_link, discipline, rate == 0 ? 0 : 8e9L / static_cast<long double>(rate), queue_limit);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto arrived = bench.arrived.find(ids[i]);
      ASSERT_EQ(arrived != bench.arrived.end(), left[i] >= 0) << "packet " << ids[i];
      if (left[i] < 0) continue;
      EXPECT_NEAR(static_cast<double>(arrived->second),
                  static_cast<double>(std::ceil(left[i]) + static_cast<long double>(delay)), 1.0)
          << "packet " << ids[i];
    }
  }
}

class AgainstTheReference : public testing::TestWithParam<Discipline> {};

TEST_P(AgainstTheReference, PacketsArriveWhenItSays) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    // 8 ns a byte, and rates that divide nothing.
    const uint64_t rates[] = {1'000'000'000, 700'000'000, 3'300'000'000, 60'000'000, 0};
    Compare(GetParam(), 0, rates[seed % 5], seed);
  }
}

TEST_P(AgainstTheReference, TheSamePacketsFindTheQueueFull) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    // Whole ns a byte, so that both see the same ties; shares of a rate are never whole, so there
    // no departure may meet an arrival.
    const uint64_t whole = seed % 2 == 0 ? 1'000'000'000 : 500'000'000;
    Compare(GetParam(), 1 + seed % 5,
            GetParam() == Discipline::kProcessorSharing ? 787'878'787 + seed : whole, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Disciplines, AgainstTheReference,
                         testing::Values(Discipline::kFifo, Discipline::kPriority,
                                         Discipline::kProcessorSharing));

TEST(TimedLinks, CarryThreePacketsOnOneLinkAsCountedByHand) {
  // 100 bytes at 1 Gbit/s are 800 ns.
  Bench bench({.base = {.bits_per_second = 1'000'000'000, .delay_ns = 50}, .rules = {}});
  bench.Enter({1000, 1, 100, 0}, 0);
  bench.Enter({1100, 1, 200, 0}, 1);
  bench.Enter({5000, 1, 100, 0}, 2);
  EXPECT_EQ(bench.cold[1].occupancy.load(), 3u);
  bench.Release(100'000);
  EXPECT_EQ(bench.arrived, (std::map<uint32_t, uint64_t>{{0, 1850}, {1, 3450}, {2, 5850}}));
  EXPECT_EQ(bench.cold[1].occupancy.load(), 0u);
  EXPECT_EQ(bench.cold[1].peak.load(), 3u);
  EXPECT_EQ(bench.links.counters(1).BusyBy(UINT64_MAX), 3200u);
}

TEST(TimedLinks, ManySmallSendingTimesDoNotDriftApart) {
  // 64 bytes at 1.3 Gbit/s: 393.846 ns, a million times.
  Bench bench({.base = {.bits_per_second = 1'300'000'000}, .rules = {}});
  for (uint32_t i = 0; i < 1'000'000; ++i) {
    bench.Enter({1000, 0, 64, 0}, i);
    if (i % 1000 == 999) bench.Release(UINT64_MAX / 2);
  }
  EXPECT_NEAR(static_cast<double>(bench.last), 1000 + 1e6 * 64 * 8 / 1.3, 1.5);
}

TEST(TimedLinks, APacketWaitsForAPartOfATick) {
  Bench bench({.base = {.bits_per_second = 1'300'000'000}, .rules = {}});  // 64 bytes: 393.846 ns
  for (const uint32_t id : {0, 1}) bench.Enter({1000 + 393 * id, 0, 64, 0}, id);
  bench.Release(10'000);
  EXPECT_EQ(bench.arrived, (std::map<uint32_t, uint64_t>{{0, 1394}, {1, 1788}}));
}

TEST(TimedLinks, LossIsAsOftenAsAskedAndTheSameWithTheSameSeed) {
  constexpr int kPackets = 20000;
  constexpr double kLoss = 0.03;
  std::vector<std::map<uint32_t, uint64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    Bench bench({.base = {.loss = kLoss}, .rules = {}});
    std::vector<Offered> packets;
    for (uint32_t i = 0; i < kPackets; ++i) {
      packets.push_back({1000 + i, i % kLinks, 64, 0});
      if (run == 0) bench.Enter(packets[i], i);
      if (i % 100 != 99) continue;
      if (run == 1) bench.EnterLast(packets, i - 99, i + 1, UINT64_MAX / 2);
      bench.Release(UINT64_MAX / 2);
    }
    EXPECT_EQ(bench.arrived.size() + bench.dropped(DropReason::kLoss), size_t{kPackets});
    // 4.5 standard deviations: wrong by chance once in 150,000 seeds.
    const double spread = 4.5 * std::sqrt(kPackets * kLoss * (1 - kLoss));
    EXPECT_NEAR(static_cast<double>(bench.dropped(DropReason::kLoss)), kPackets * kLoss, spread);
    runs.push_back(bench.arrived);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(TimedLinks, WhenTheMemoryEndsPacketsAreDroppedAndSaidSo) {
  // Entry 0 is not used.
  Bench bench({.base = {.bits_per_second = 1000}, .rules = {}}, 11 * sizeof(StoredPacket));
  for (uint32_t i = 0; i < 15; ++i) bench.Enter({1000, i % kLinks, 64, 0}, i);
  EXPECT_EQ(bench.links.held(), 10u);
  EXPECT_EQ(bench.dropped(DropReason::kQueueMemory), 5u);
  bench.Release(UINT64_MAX / 2);
  EXPECT_EQ(bench.arrived.size(), 10u);
  // And is there again.
  for (uint32_t i = 0; i < 10; ++i) bench.Enter({UINT64_MAX / 2, 0, 64, 0}, 100 + i);
  EXPECT_EQ(bench.links.held(), 10u);
  EXPECT_EQ(bench.links.Discard(), 10u);
  EXPECT_EQ(bench.links.held(), 0u);
}

TEST(TimedLinks, ANewRateHoldsForWhatWaitsAndNotForWhatIsBeingSent) {
  Bench bench({.base = {.bits_per_second = 8'000'000}, .rules = {}});  // 1000 ns a byte
  for (uint32_t i = 0; i < 3; ++i) bench.Enter({1000, 2, 100, 0}, i);
  bench.Release(50'000);
  const ShapeTable faster({.base = {.bits_per_second = 800'000'000}, .rules = {}}, 0, 2, 2, kHz);
  bench.links.SetTable(&faster, 51'000);
  bench.Release(10'000'000);
  // The first was being sent; 100 bytes then take 1000 ns.
  EXPECT_EQ(bench.arrived,
            (std::map<uint32_t, uint64_t>{{0, 101'000}, {1, 102'000}, {2, 103'000}}));
}

TEST(TimedLinks, ANewRateHoldsForWhatIsLeftOfPacketsThatAreShared) {
  Bench bench({.base = {.bits_per_second = 8'000'000, .discipline = Discipline::kProcessorSharing},
               .rules = {}});  // 1000 ns a byte
  bench.Enter({1000, 2, 100, 0}, 0);
  bench.Enter({1000, 2, 200, 0}, 1);
  bench.Release(50'000);
  const ShapeTable faster(
      {.base = {.bits_per_second = 800'000'000, .discipline = Discipline::kProcessorSharing},
       .rules = {}},
      0, 2, 2, kHz);
  bench.links.SetTable(&faster, 101'000);
  bench.Release(10'000'000);
  // Of each, 50 bytes were sent. Two times 50 bytes then take 1000 ns, 100 bytes alone as long.
  EXPECT_EQ(bench.arrived, (std::map<uint32_t, uint64_t>{{0, 102'000}, {1, 103'000}}));
}

TEST(TimedLinks, ANewDisciplineTakesOverWhatWaits) {
  for (const Discipline from :
       {Discipline::kFifo, Discipline::kPriority, Discipline::kProcessorSharing}) {
    for (const Discipline to :
         {Discipline::kFifo, Discipline::kPriority, Discipline::kProcessorSharing}) {
      Bench bench({.base = {.bits_per_second = 1'000'000'000, .discipline = from}, .rules = {}});
      const ShapeTable then(
          {.base = {.bits_per_second = 1'000'000'000, .discipline = to}, .rules = {}}, 0, 2, 2,
          kHz);
      for (uint32_t i = 0; i < 20; ++i) bench.Enter({1000, i % 2, 100, static_cast<int>(i % 3)}, i);
      bench.Release(2000);
      bench.links.SetTable(&then, 2500);
      EXPECT_EQ(bench.links.held() + bench.arrived.size(), 20u);
      bench.Release(UINT64_MAX / 2);
      EXPECT_EQ(bench.arrived.size(), 20u);
      EXPECT_EQ(bench.links.held(), 0u);
      // Work is conserved but for what was shared and starts over, at most 1500 ns of it.
      EXPECT_GE(bench.last, 1000u + 10 * 800);
      EXPECT_LE(bench.last, 1000u + 10 * 800 + 1500);
    }
  }
}

TEST(TimedLinks, DisciplinesChangeWhilePacketsAreOnTheWire) {
  // A packet takes 800 ns, and 100 us later it arrives.
  const auto plan = [](Discipline discipline) {
    return LinkPlan{
        .base = {.bits_per_second = 1'000'000'000, .delay_ns = 100'000, .discipline = discipline},
        .rules = {}};
  };
  const ShapeTable by_priority(plan(Discipline::kPriority), 0, 2, 2, kHz);
  const ShapeTable in_order(plan(Discipline::kFifo), 0, 2, 2, kHz);
  Bench bench(plan(Discipline::kFifo));
  for (const uint32_t id : {0, 1, 2, 3, 4}) {
    bench.Enter({1000, 0, 100, id == 4 ? 7 : 0}, id);
  }
  bench.links.SetTable(&by_priority, 2500);  // 1 is being sent until 2600, then 4
  bench.Release(3000);
  bench.links.SetTable(&in_order, 3000);
  bench.Enter({3100, 0, 100, 7}, 5);
  EXPECT_EQ(bench.links.At(0, 3100).packets, 4u);  // 4 until 3400, then 2, 3, 5
  EXPECT_EQ(bench.links.At(0, 4200).packets, 2u);  // 3, and 5 until 5800
  bench.links.SetTable(&by_priority, 4300);
  bench.Enter({4400, 0, 100, 0}, 6);
  bench.Enter({4400, 0, 100, 1}, 7);
  bench.links.SetTable(&in_order, 4500);
  EXPECT_EQ(bench.links.At(0, 4500).packets, 4u);
  bench.Release(150'000);
  const auto from = [&](uint32_t id) { return bench.arrived.at(id) - 100'000; };
  ASSERT_EQ(bench.arrived.size(), 8u);
  EXPECT_EQ(from(0), 1800u);
  EXPECT_EQ(from(1), 2600u);
  EXPECT_EQ(from(4), 3400u);
  EXPECT_EQ(from(2), 4200u);
  EXPECT_EQ(from(3), 5000u);
  EXPECT_EQ(from(5), 5800u);
  EXPECT_EQ(from(6), 6600u) << "came first, and waits again in a link that knows no priorities";
  EXPECT_EQ(from(7), 7400u);
  EXPECT_EQ(bench.links.held(), 0u);
  bench.Enter({200'000, 0, 100, 0}, 8);
  EXPECT_EQ(bench.links.At(0, 200'000).packets, 1u);
  bench.Release(400'000);
  EXPECT_EQ(from(8), 200'800u);
}

// Links share the memory of packets. Link 0 changes its discipline all the time, link 3 never does.
TEST(TimedLinks, AnotherLinkMayChangeItsDisciplineAtAnyTime) {
  const auto table = [](Discipline of_link_0, uint64_t rate) {
    return ShapeTable({.base = {.bits_per_second = 8'000'000'000, .delay_ns = 400},
                       .rules = {{.port = 0, .bits_per_second = rate, .discipline = of_link_0}}},
                      0, kLinks / 2, 2, kHz);
  };
  const ShapeTable tables[] = {
      table(Discipline::kFifo, 8'000'000'000), table(Discipline::kPriority, 8'000'000'000),
      table(Discipline::kProcessorSharing, 8'000'000'000), table(Discipline::kProcessorSharing, 0)};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Bench bench({.base = {}, .rules = {}});
    bench.links.SetTable(&tables[0], 0);
    uint64_t now = 1000, free = 0;
    std::vector<std::pair<uint64_t, uint64_t>> on_link_3;  // begins to be sent, and has left
    for (uint32_t id = 0; id < 300; ++id) {
      now += random() % 400;
      if (random() % 2 == 0) bench.Release(now);
      if (random() % 8 == 0) bench.links.SetTable(&tables[random() % 4], now);
      const auto bytes = static_cast<uint16_t>(64 + random() % 512);  // a byte takes 1 ns
      const uint32_t link = random() % 2 == 0 ? 0 : 3;
      bench.Enter({now, link, bytes, static_cast<int>(random() % 8)}, id);
      if (link == 3) {
        const uint64_t begins = std::max(free, now);
        free = begins + bytes;
        on_link_3.emplace_back(begins, free);
      }
      uint32_t there = 0;
      for (const auto& [begins, left] : on_link_3) there += left > now ? 1 : 0;
      ASSERT_EQ(bench.links.At(3, now).packets, there) << "seed " << seed << ", packet " << id;
    }
    bench.Release(UINT64_MAX / 2);
    EXPECT_EQ(bench.arrived.size(), 300u);
    EXPECT_EQ(bench.links.held(), 0u);
  }
}

TEST(TimedLinks, CountWhoWaitsAlsoBehindPacketsThatPassAtOnce) {
  // 100 bytes take 100 ns, and four packets may wait.
  Bench bench({.base = {.bits_per_second = 8'000'000'000, .queue_limit = 4}, .rules = {}});
  std::vector<Offered> packets(6, {1000, 0, 100, 0});
  for (uint32_t id = 0; id < 6; ++id) bench.Enter(packets[id], id);
  EXPECT_EQ(bench.dropped(DropReason::kQueueFull), 1u);
  bench.Release(1450);
  // The last packet of the five is being sent until 1500. Then the link has nothing to send.
  packets.push_back({1600, 0, 100, 0});
  packets.push_back({1650, 0, 200, 0});
  packets.push_back({1660, 0, 100, 0});
  bench.EnterLast(packets, 6, 9, 1700);
  bench.Release(1700);
  EXPECT_EQ(bench.links.At(0, 1750).packets, 2u) << "one until 1900, and one behind it";
}

TEST(TimedLinks, ShorterWiresDoNotLetPacketsOvertake) {
  Bench bench({.base = {.delay_ns = 10'000}, .rules = {}});
  bench.Enter({1000, 0, 64, 0}, 0);
  const ShapeTable shorter({.base = {.delay_ns = 10}, .rules = {}}, 0, 2, 2, kHz);
  bench.links.SetTable(&shorter, 2000);
  bench.Enter({3000, 0, 64, 0}, 1);
  bench.Release(UINT64_MAX / 2);
  // The worker found the last packet late.
  const std::vector<Offered> packets(3, {4000, 0, 64, 0});
  bench.EnterLast(packets, 2, 3, 12'000);
  bench.Release(12'000);
  EXPECT_EQ(bench.arrived, (std::map<uint32_t, uint64_t>{{0, 11'000}, {1, 11'000}, {2, 11'000}}));
}

}  // namespace
}  // namespace bfly::dataplane
