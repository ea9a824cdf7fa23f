// SPDX-License-Identifier: Apache-2.0
// FIFO links whose settings change while packets wait, against Lindley's recursion: a packet whose
// sending begins at or before the change is sent by the old settings, every other one by the new.
// Links that are shared for a while, counted by hand. One tick is a nanosecond here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {
namespace {

constexpr double kTicksPerSecond = 1e9;
constexpr uint32_t kFourLinks = 4;

struct Coming {
  uint64_t arrival;
  uint32_t link;
  uint16_t bytes;
};

struct Change {
  uint64_t time;
  LinkPlan plan;
};

Descriptor Packet(const Coming& offered, uint32_t id) {
  return {.tag = kWireTagDone,
          .mbuf = nullptr,
          .time = offered.arrival,
          .row = id,
          .bytes = offered.bytes,
          .input = 0};
}

const LinkShape& ShapeAt(const std::vector<Change>& changes, long double time) {
  size_t i = 0;
  while (i + 1 < changes.size() && static_cast<long double>(changes[i + 1].time) < time) ++i;
  return changes[i].plan.base;
}

// When the packets of one link arrive at its far side; below 0: the queue was full.
std::vector<long double> Expected(const std::vector<Coming>& packets,
                                  const std::vector<Change>& changes) {
  std::vector<long double> arrived, starts;
  long double free = 0, last = 0;
  for (const Coming& packet : packets) {
    const auto arrival = static_cast<long double>(packet.arrival);
    const auto waiting =
        std::count_if(starts.begin(), starts.end(), [&](long double s) { return s > arrival; });
    // A change at the moment at which a packet comes holds for the packet.
    const uint32_t limit = ShapeAt(changes, arrival + .5L).queue_limit;
    if (limit != 0 && waiting >= limit) {
      arrived.push_back(-1);
      continue;
    }
    const long double start = std::max(free, arrival);
    // What begins at the moment of a change began before it, unless it came after it.
    const LinkShape& shape = ShapeAt(changes, start > arrival ? start : start + .5L);
    free = start;
    if (shape.bits_per_second != 0) {
      free += 8e9L * packet.bytes / static_cast<long double>(shape.bits_per_second);
    }
    starts.push_back(start);
    last = std::max(last, std::ceil(free - 1e-6L) + static_cast<long double>(shape.delay_ns));
    arrived.push_back(last);
  }
  return arrived;
}

LinkPlan DrawPlan(std::mt19937& random) {
  const uint64_t rates[] = {1'000'000'000, 500'000'000, 2'000'000'000, 250'000'000, 0};
  const uint64_t delays[] = {0, 300, 20'000};
  const uint32_t limits[] = {0, 1, 3, 10};
  return {.base = {.bits_per_second = rates[random() % 5],
                   .delay_ns = delays[random() % 3],
                   .queue_limit = limits[random() % 4]},
          .rules = {}};
}

TEST(TimedChanges, HoldForWhatWaitsAndComesAndNotForWhatIsBeingSent) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<Change> changes = {{0, DrawPlan(random)}};
    std::vector<Coming> packets;
    uint64_t now = 1000;
    for (uint32_t i = 0; i < 300; ++i) {
      if (random() % 3 != 0) now += random() % 700;
      packets.push_back({now, static_cast<uint32_t>(random() % kFourLinks),
                         static_cast<uint16_t>(64 + random() % 1400)});
      if (random() % 30 == 0) changes.push_back({now + 1 + random() % 300, DrawPlan(random)});
    }
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.time < b.time; });

    PacketStore store(1 << 20);
    LinkCold cold[kFourLinks];
    TimedLinks links(kFourLinks, 0, &store, cold, 1);
    Ledger ledger;
    std::vector<std::unique_ptr<ShapeTable>> tables;
    std::map<uint32_t, uint64_t> arrived;
    uint64_t last = 0;
    const auto release = [&](uint64_t until) {
      Descriptor out[9];
      while (const int count = links.Release(until, out, 9, ledger)) {
        for (int i = 0; i < count; ++i) {
          EXPECT_TRUE(arrived.emplace(out[i].row, out[i].arrival).second);
          EXPECT_GE(out[i].arrival, last);
          last = out[i].arrival;
        }
      }
    };
    uint32_t next = 0;
    for (const Change& change : changes) {
      for (; next < packets.size() && packets[next].arrival < change.time; ++next) {
        const Coming& coming = packets[next];
        const Descriptor packet = Packet(coming, next);
        if (random() % 5 == 0) release(coming.arrival);
        // A packet that the worker found late may arrive at once.
        if (const uint64_t look = coming.arrival + random() % 3000;
            random() % 2 == 0 && look < change.time &&
            (next + 1 == packets.size() || look < packets[next + 1].arrival)) {
          links.EnterLast(&packet, &coming.link, 1, look, ledger);
          release(look);
        } else {
          links.Enter(packet, coming.link, ledger);
        }
      }
      if (!tables.empty() && random() % 2 == 0) release(change.time);
      tables.push_back(
          std::make_unique<ShapeTable>(change.plan, 0, kFourLinks / 2, 2, kTicksPerSecond));
      links.SetTable(tables.back().get(), change.time);
    }
    for (; next < packets.size(); ++next) {
      links.Enter(Packet(packets[next], next), packets[next].link, ledger);
    }
    release(UINT64_MAX / 2);
    EXPECT_EQ(links.held(), 0u);
    EXPECT_EQ(arrived.size() + ledger.dropped_total(), packets.size());

    for (uint32_t link = 0; link < kFourLinks; ++link) {
      std::vector<Coming> of_link;
      std::vector<uint32_t> ids;
      for (uint32_t i = 0; i < packets.size(); ++i) {
        if (packets[i].link != link) continue;
        of_link.push_back(packets[i]);
        ids.push_back(i);
      }
      const std::vector<long double> expected = Expected(of_link, changes);
      for (size_t i = 0; i < ids.size(); ++i) {
        const auto found = arrived.find(ids[i]);
        ASSERT_EQ(found != arrived.end(), expected[i] >= 0) << "packet " << ids[i];
        if (expected[i] >= 0) {
          ASSERT_EQ(found->second, static_cast<uint64_t>(expected[i])) << "packet " << ids[i];
        }
      }
      // Whatever was served again counts once.
      EXPECT_EQ(cold[link].occupancy.load(), 0u);
    }
  }
}

class TimedChangesOf : public testing::TestWithParam<Discipline> {};

// A link is busy as long as it has packets to send, in whatever order it sends them.
TEST_P(TimedChangesOf, CountTheTimeOfSendingOnceWhateverTheRateWas) {
  PacketStore store(1 << 20);
  LinkCold cold[2];
  TimedLinks links(2, 0, &store, cold, 1);
  Ledger ledger;
  const auto table = [](uint64_t rate) {
    return ShapeTable({.base = {.bits_per_second = rate, .discipline = GetParam()}, .rules = {}}, 0,
                      1, 2, kTicksPerSecond);
  };
  const ShapeTable slow = table(8'000'000), fast = table(80'000'000);
  Descriptor out[4];
  uint64_t arrived = 0;
  const auto busy_by = [&](uint64_t now) {
    // A link with priorities counts a packet when the worker has found out that it is sent.
    if (GetParam() == Discipline::kPriority) {
      arrived += static_cast<uint64_t>(links.Release(now, out, 4, ledger));
    }
    return static_cast<double>(links.counters(1).BusyBy(now));
  };
  links.SetTable(&slow, 0);
  // 100 bytes take 100,000 ns, then 10,000 ns.
  for (uint32_t i = 0; i < 3; ++i) links.Enter(Packet({1000, 1, 100}, i), 1, ledger);
  EXPECT_EQ(busy_by(1000), 0);
  EXPECT_EQ(busy_by(51'000), 50'000) << "half of a packet, or of three a sixth each";
  links.SetTable(&fast, 51'000);
  const double sent = GetParam() == Discipline::kProcessorSharing ? 75'000 : 120'000;
  for (const uint64_t now : {51'000, 75'000, 76'000, 101'000, 106'000, 121'000, 500'000}) {
    EXPECT_NEAR(busy_by(now), std::min(static_cast<double>(now - 1000), sent), 1) << now;
  }
  links.Enter(Packet({600'000, 1, 100}, 3), 1, ledger);
  EXPECT_NEAR(busy_by(600'000), sent, 1);
  EXPECT_NEAR(busy_by(605'000), sent + 5000, 1);
  EXPECT_EQ(arrived + links.Discard(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Disciplines, TimedChangesOf,
                         testing::Values(Discipline::kFifo, Discipline::kPriority,
                                         Discipline::kProcessorSharing));

TEST(TimedLinks, CeaseToCountWhoWaitsWhenTheirPacketsHaveLeft) {
  PacketStore store(8 * sizeof(StoredPacket));  // seven packets
  LinkCold cold[kFourLinks];
  const ShapeTable table(
      {.base = {.bits_per_second = 8'000'000'000, .queue_limit = 4}, .rules = {}}, 0,
      kFourLinks / 2, 2, kTicksPerSecond);
  TimedLinks links(kFourLinks, 0, &store, cold, 1);
  links.SetTable(&table, 0);
  Ledger ledger;
  Descriptor out[20];
  for (uint32_t i = 0; i < 6; ++i) links.Enter(Packet({1000, 0, 100}, i), 0, ledger);
  EXPECT_EQ(cold[0].queue_full.load(), 1u) << "so link 0 counts";
  EXPECT_EQ(links.Release(2000, out, 20, ledger), 5);
  links.Enter(Packet({3000, 0, 100}, 6), 0, ledger);
  EXPECT_EQ(links.Release(4000, out, 20, ledger), 1);
  // More packets than the store has room for.
  std::vector<Descriptor> batch;
  std::vector<uint32_t> of;
  for (uint32_t i = 0; i < 16; ++i) {
    of.push_back(i % kFourLinks);
    batch.push_back(Packet({5000, of.back(), 100}, i));
  }
  links.EnterLast(batch.data(), of.data(), 16, 6000, ledger);
  EXPECT_EQ(links.Release(6000, out, 20, ledger), 16);
}

// A link that has a delay and much to do is seldom empty.
TEST(TimedLinks, CeaseToCountWhoWaitsWhenAPacketFindsTheLinkFree) {
  const auto table = [](uint64_t delay) {
    return ShapeTable(
        {.base = {.bits_per_second = 8'000'000'000, .delay_ns = delay, .queue_limit = 4},
         .rules = {}},
        0, kFourLinks / 2, 2, kTicksPerSecond);
  };
  const ShapeTable before = table(1000), after = table(2000);
  for (const bool changes : {false, true}) {
    PacketStore store(8 * sizeof(StoredPacket));  // seven packets
    LinkCold cold[kFourLinks];
    TimedLinks links(kFourLinks, 0, &store, cold, 1);
    links.SetTable(&before, 0);
    Ledger ledger;
    Descriptor out[20];
    // Link 0 counts because its queue is full, or because its settings change while packets wait.
    for (uint32_t i = 0; i < (changes ? 5 : 6); ++i) {
      links.Enter(Packet({1000, 0, 100}, i), 0, ledger);
    }
    EXPECT_EQ(cold[0].queue_full.load(), changes ? 0u : 1u);
    if (changes) links.SetTable(&after, 1050);
    // The five have left the link at 1500, and one of them at least is on the wire until 2500.
    links.Enter(Packet({1600, 0, 100}, 6), 0, ledger);
    EXPECT_EQ(links.Release(2500, out, 20, ledger), changes ? 1 : 5);
    // More packets than the store has room for.
    std::vector<Descriptor> batch;
    std::vector<uint32_t> of;
    for (uint32_t i = 0; i < 12; ++i) {
      of.push_back(1 + i % 3);
      batch.push_back(Packet({2600, of.back(), 100}, 10 + i));
    }
    links.EnterLast(batch.data(), of.data(), 12, 9000, ledger);
    EXPECT_EQ(links.Release(9000, out, 20, ledger), changes ? 17 : 13);
    EXPECT_EQ(ledger.dropped_total(), changes ? 0u : 1u);
  }
}

// One link at 8 Mbit/s: 100 bytes take 100,000 ns. A packet is sent from 1,000 to 101,000.
struct SlowLink {
  SlowLink() { Change(Discipline::kFifo, 8'000'000, 0); }
  void Change(Discipline discipline, uint64_t rate, uint64_t now) {
    tables.push_back(std::make_unique<ShapeTable>(
        LinkPlan{.base = {.bits_per_second = rate, .discipline = discipline}, .rules = {}}, 0, 1, 1,
        kTicksPerSecond));
    links.SetTable(tables.back().get(), now);
  }
  void Enter(uint64_t arrival, uint32_t id) {
    links.Enter(Packet({arrival, 0, 100}, id), 0, ledger);
  }
  // When each packet has arrived, by id.
  std::map<uint32_t, uint64_t> Arrived() {
    std::map<uint32_t, uint64_t> arrived;
    Descriptor out[8];
    const int count = links.Release(UINT64_MAX / 2, out, 8, ledger);
    for (int i = 0; i < count; ++i) arrived[out[i].row] = out[i].arrival;
    return arrived;
  }

  PacketStore store{1 << 20};
  LinkCold cold[1];
  TimedLinks links{1, 0, &store, cold, 1};
  Ledger ledger;
  std::vector<std::unique_ptr<ShapeTable>> tables;
};

using ArrivalById = std::map<uint32_t, uint64_t>;

TEST(TimedChanges, LetAPacketBeSentToItsEndThoughTheLinkIsSharedMeanwhile) {
  for (const Discipline then : {Discipline::kFifo, Discipline::kPriority}) {
    for (const bool others_wait : {false, true}) {
      SlowLink link;
      link.Enter(1000, 0);
      if (others_wait) link.Enter(1000, 1);
      if (others_wait) link.Enter(1000, 2);
      link.Change(Discipline::kProcessorSharing, 8'000'000, 11'000);
      link.Change(then, 8'000'000, 21'000);
      if (!others_wait) link.Enter(22'000, 1);
      EXPECT_EQ(link.Arrived(), others_wait
                                    ? (ArrivalById{{0, 101'000}, {1, 201'000}, {2, 301'000}})
                                    : (ArrivalById{{0, 101'000}, {1, 201'000}}));
    }
  }
}

// Two packets start over after a quarter of each was sent.
TEST(TimedChanges, CountTheTimeThatPacketsSharedALink) {
  for (const Discipline then : {Discipline::kFifo, Discipline::kPriority}) {
    SlowLink link;
    link.Change(Discipline::kProcessorSharing, 8'000'000, 0);
    for (const uint32_t id : {0, 1}) link.Enter(1000, id);
    link.Change(then, 8'000'000, 51'000);
    EXPECT_EQ(link.Arrived(), (ArrivalById{{0, 151'000}, {1, 251'000}}));
    EXPECT_EQ(link.links.counters(0).BusyBy(UINT64_MAX), 250'000u);
    EXPECT_EQ(link.links.counters(0).BusyBy(161'000), 160'000u);
  }
}

TEST(TimedChanges, GiveALinkARateThatIsSharedAndHadNone) {
  SlowLink link;
  for (const uint32_t id : {0, 1, 2}) link.Enter(1000, id);
  link.Change(Discipline::kProcessorSharing, 0, 11'000);
  link.Change(Discipline::kProcessorSharing, 8'000'000, 21'000);
  // From 101,000 on two packets share the link, each at half its rate.
  EXPECT_EQ(link.Arrived(), (ArrivalById{{0, 101'000}, {1, 301'000}, {2, 301'000}}));
}

TEST(TimedLinks, OfDifferentDisciplinesShareAStageAndGiveTheirPacketsInOneOrder) {
  // Link 0 is FIFO, link 1 goes by priority, link 2 is shared; 100 bytes take 800 ns.
  const LinkPlan plan{
      .base = {.bits_per_second = 1'000'000'000},
      .rules = {{.first_row = 0, .last_row = 0, .port = 1, .discipline = Discipline::kPriority},
                {.first_row = 1, .last_row = 1, .discipline = Discipline::kProcessorSharing}}};
  PacketStore store(1 << 20);
  LinkCold cold[kFourLinks];
  const ShapeTable table(plan, 0, kFourLinks / 2, 2, kTicksPerSecond);
  TimedLinks links(kFourLinks, 0, &store, cold, 1);
  links.SetTable(&table, 0);
  Ledger ledger;
  std::vector<Descriptor> batch;
  std::vector<uint32_t> of;
  for (uint32_t link = 0; link < 3; ++link) {
    for (uint32_t i = 0; i < 3; ++i) {
      batch.push_back(Packet({1000, link, 100}, 10 * link + i));
      batch.back().priority = i & 3;
      of.push_back(link);
    }
  }
  links.Enter(batch.data(), of.data(), static_cast<int>(batch.size()), ledger);
  std::map<uint32_t, uint64_t> arrived;
  Descriptor out[2];
  uint64_t last = 0;
  while (const int count = links.Release(1'000'000, out, 2, ledger)) {
    for (int i = 0; i < count; ++i) {
      arrived[out[i].row] = out[i].arrival;
      EXPECT_GE(out[i].arrival, last);
      last = out[i].arrival;
    }
  }
  EXPECT_EQ(arrived, (std::map<uint32_t, uint64_t>{{0, 1800},
                                                   {1, 2600},
                                                   {2, 3400},
                                                   {10, 1800},
                                                   {12, 2600},
                                                   {11, 3400},
                                                   {20, 3400},
                                                   {21, 3400},
                                                   {22, 3400}}));
}

}  // namespace
}  // namespace bfly::dataplane
