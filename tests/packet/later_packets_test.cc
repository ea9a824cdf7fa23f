// SPDX-License-Identifier: Apache-2.0
// Packets that are kept in order of arrival, against a sorted list, and what becomes of those that
// can't be kept so.
#include "dataplane/stages/later_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {
namespace {

struct Kept {
  uint64_t arrival;
  uint32_t link;
  bool operator==(const Kept&) const = default;
};

TEST(LaterPackets, ComeOutByArrivalAndThenAsTheyCame) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const uint64_t spread = 1 + random() % 2000;
    LaterPackets later;
    std::list<Kept> plain;
    uint64_t now = 1000;
    uint32_t number = 0;
    for (int step = 0; step < 60; ++step) {
      now += random() % (spread / 2 + 1);
      std::vector<Kept> batch(1 + random() % 256);
      for (Kept& packet : batch) packet = {now + random() % spread, number++};
      std::stable_sort(batch.begin(), batch.end(),
                       [](const Kept& a, const Kept& b) { return a.arrival < b.arrival; });
      const auto overtaken =
          static_cast<size_t>(std::count_if(plain.begin(), plain.end(), [&](const Kept& there) {
            return there.arrival > batch[0].arrival;
          }));
      ASSERT_EQ(later.CanAdd(batch.size(), batch[0].arrival),
                overtaken < std::min<size_t>(512, 2 * batch.size() + 8));
      if (later.CanAdd(batch.size(), batch[0].arrival)) {
        later.Add(
            batch.size(), [&](size_t i) { return batch[i].arrival; },
            [&](size_t i, LaterPacket& place) {
              place.arrival = batch[i].arrival;
              place.link = batch[i].link;
            });
        for (const Kept& packet : batch) {
          plain.insert(
              std::find_if(plain.begin(), plain.end(),
                           [&](const Kept& there) { return there.arrival > packet.arrival; }),
              packet);
        }
      }
      ASSERT_EQ(later.count(), plain.size());
      const uint64_t until = now + random() % spread;
      ASSERT_EQ(later.CountUntil(until), static_cast<size_t>(std::count_if(
                                             plain.begin(), plain.end(), [&](const Kept& there) {
                                               return there.arrival <= until;
                                             })));
      const size_t most = random() % 400;
      std::vector<Kept> taken, expected;
      later.TakeUntil(until, most, [&](const LaterPacket& packet) {
        taken.push_back({packet.arrival, packet.link});
      });
      while (expected.size() < most && !plain.empty() && plain.front().arrival <= until) {
        expected.push_back(plain.front());
        plain.pop_front();
      }
      ASSERT_EQ(taken, expected);
      ASSERT_EQ(later.NotBefore(), plain.empty() ? UINT64_MAX : plain.front().arrival);
    }
  }
}

// Link 0 gets a thousand packets at once. Then packets over link 1 go before them all, and after
// some time link 0 gets more. Times are by hand: D = max(D of the packet before, arrival) + work.
class Overtaken : public testing::TestWithParam<uint64_t> {
 protected:
  bool IsMissing(const uint64_t* arrived, uint32_t link) const {
    return arrived[link] < offered_[link];
  }
  uint64_t offered_[2] = {};
};

TEST_P(Overtaken, PacketsArriveByTheirOwnLink) {
  constexpr uint16_t kBytes = 1500;
  constexpr uint64_t kDelay = 700;
  const uint64_t work = kBytes * 8 * uint64_t{1'000'000'000} / GetParam();
  PacketStore store(1 << 20);
  LinkCold cold[4];
  const ShapeTable table({.base = {.bits_per_second = GetParam(), .delay_ns = kDelay}, .rules = {}},
                         0, 2, 2, /*tsc_hz=*/1e9);
  TimedLinks links(4, 0, &store, cold, 7);
  links.SetTable(&table, 0);
  Ledger ledger;
  uint64_t arrived[4] = {}, last = 0;
  const auto release = [&](uint64_t now) {
    Descriptor out[100];
    while (const int count = links.Release(now, out, 100, ledger)) {
      for (int i = 0; i < count; ++i) {
        const uint32_t link = out[i].row;
        ++arrived[link];
        const uint64_t first = link == 0 ? 1000 : 2000;
        EXPECT_EQ(out[i].arrival, first + work * arrived[link] + kDelay) << "link " << link;
        EXPECT_GE(out[i].arrival, last);
        last = out[i].arrival;
      }
    }
    for (uint32_t link = 0; link < 2; ++link) {
      EXPECT_EQ(cold[link].occupancy.load() > 0, IsMissing(arrived, link)) << "link " << link;
    }
  };
  const auto enter = [&](uint32_t link, uint64_t arrival, size_t count, uint64_t now) {
    std::vector<Descriptor> batch(count, {.tag = kWireTagDone,
                                          .mbuf = nullptr,
                                          .time = arrival,
                                          .row = link,
                                          .bytes = kBytes,
                                          .input = 0});
    const std::vector<uint32_t> of(count, link);
    offered_[link] += count;
    links.EnterLast(batch.data(), of.data(), static_cast<int>(count), now, ledger);
    release(now);
  };
  for (int i = 0; i < 4; ++i) enter(0, 1000, 250, 1500);
  EXPECT_EQ(links.held(), 1000u);
  EXPECT_EQ(cold[0].occupancy.load(), 1000u);
  enter(1, 2000, 5, 2500);
  EXPECT_EQ(links.held(), 1005u);
  EXPECT_LE(links.NextRelease(), 2000 + work + kDelay);
  for (uint64_t now = 3000; now < 1000 + 400 * work; now += 7 * work / 2) release(now);
  EXPECT_EQ(arrived[1], 5u);
  enter(0, 1000 + 400 * work, 200, 1000 + 401 * work);
  release(1000 + 2000 * work);
  EXPECT_EQ(arrived[0], 1200u);
  EXPECT_EQ(links.held(), 0u);
  EXPECT_EQ(store.room(), (size_t{1} << 20) / sizeof(StoredPacket) - 1);
  EXPECT_EQ(links.counters(0).BusyBy(UINT64_MAX), 1200 * work);
}

// At 1 Gbit/s a thousand packets take 12 ms. At 100 Mbit/s those of one batch take 30 ms, more than
// their order can tell.
INSTANTIATE_TEST_SUITE_P(Rates, Overtaken, testing::Values(1'000'000'000, 100'000'000));

}  // namespace
}  // namespace bfly::dataplane
