// SPDX-License-Identifier: Apache-2.0
// What links that take time count: the packets that they took, and the time that they spent
// sending. One tick is a nanosecond here.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "dataplane/links/shape_table.h"
#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kLinksThere = 4;
constexpr uint32_t kUsedLink = 1;

// Links that a worker serves, and packets that come to one of them in batches or one by one.
struct CountedLinks {
  CountedLinks(const LinkShape& shape, bool in_batches, size_t store_bytes = 1 << 20)
      : batches(in_batches), store(store_bytes) {
    Set(shape, 0);
  }
  void Set(const LinkShape& shape, uint64_t now) {
    tables.push_back(std::make_unique<ShapeTable>(LinkPlan{.base = shape, .rules = {}}, 0,
                                                  kLinksThere / 2, 2, /*tsc_hz=*/1e9));
    links.SetTable(tables.back().get(), now);
  }
  // `count` packets come at `arrival`, and the worker looks at `now`.
  void Enter(uint64_t arrival, size_t count, uint16_t bytes, uint64_t now) {
    const Descriptor coming{.tag = kWireTagDone,
                            .mbuf = nullptr,
                            .time = arrival,
                            .row = 0,
                            .bytes = bytes,
                            .input = 0};
    const std::vector<Descriptor> batch(count, coming);
    const std::vector<uint32_t> of(count, kUsedLink);
    if (batches) {
      links.EnterLast(batch.data(), of.data(), static_cast<int>(count), now, ledger);
    } else {
      for (const Descriptor& packet : batch) links.Enter(packet, kUsedLink, ledger);
    }
    Release(now);
  }
  void Release(uint64_t now) {
    Descriptor out[64];
    while (const int count = links.Release(now, out, 64, ledger)) arrived += count;
  }
  uint64_t dropped(DropReason reason) const { return ledger.dropped[static_cast<int>(reason)]; }
  uint64_t packets() const { return links.counters(kUsedLink).packets.load(); }
  uint64_t bytes() const { return links.counters(kUsedLink).bytes.load(); }
  double busy() const { return static_cast<double>(links.counters(kUsedLink).BusyBy(UINT64_MAX)); }

  const bool batches;
  PacketStore store;
  LinkCold cold[kLinksThere];
  TimedLinks links{kLinksThere, 0, &store, cold, 7};
  std::vector<std::unique_ptr<ShapeTable>> tables;
  Ledger ledger;
  int arrived = 0;
};

class TimedCounts : public testing::TestWithParam<std::tuple<Discipline, bool>> {
 protected:
  Discipline discipline() const { return std::get<0>(GetParam()); }
  bool in_batches() const { return std::get<1>(GetParam()); }
};

// Ten packets come at once to a link that has room for four beside the one that it sends. So it
// takes five of them.
TEST_P(TimedCounts, HaveThePacketsThatTheLinkTookAndNotThoseThatItDropped) {
  CountedLinks served({.bits_per_second = 10'000'000, .queue_limit = 4, .discipline = discipline()},
                      in_batches());
  served.Enter(1000, 10, 150, 2000);
  EXPECT_EQ(served.dropped(DropReason::kQueueFull), 5u);
  EXPECT_EQ(served.packets(), 5u);
  EXPECT_EQ(served.bytes(), 5u * 150);
  // Other settings serve packets again, and the link does not take them again.
  served.Set({.bits_per_second = 100'000'000}, 3000);
  served.Release(UINT64_MAX / 2);
  EXPECT_EQ(served.arrived, 5);
  EXPECT_EQ(served.packets(), 5u);
  EXPECT_EQ(served.bytes(), 5u * 150);
}

TEST_P(TimedCounts, HaveNoPacketForWhichThereWasNoMemory) {
  // Entry 0 is not used, so there is room for ten.
  CountedLinks served({.bits_per_second = 1000, .discipline = discipline()}, in_batches(),
                      11 * sizeof(StoredPacket));
  served.Enter(1000, 15, 64, 2000);
  EXPECT_EQ(served.dropped(DropReason::kQueueMemory), 5u);
  EXPECT_EQ(served.links.drops(kUsedLink).no_memory.load(), 5u);
  EXPECT_EQ(served.packets(), 10u);
  EXPECT_EQ(served.bytes(), 10u * 64);
  EXPECT_EQ(served.links.Discard(), 10u);
}

// A packet that is lost on the wire was sent.
TEST_P(TimedCounts, HaveThePacketsThatAreLostOnTheWire) {
  CountedLinks served({.bits_per_second = 1'000'000'000, .discipline = discipline(), .loss = 1},
                      in_batches());
  served.Enter(1000, 20, 64, 100'000);
  EXPECT_EQ(served.dropped(DropReason::kLoss), 20u);
  EXPECT_EQ(served.links.drops(kUsedLink).lost.load(), 20u);
  EXPECT_EQ(served.packets(), 20u);
}

// 64 bytes at 1.3 Gbit/s take 393.846 ns, so a thousand packets take 393,846 ns.
TEST_P(TimedCounts, HaveTheTimeOfSendingWithItsPartsOfTicks) {
  CountedLinks served({.bits_per_second = 1'300'000'000, .discipline = discipline()}, in_batches());
  for (uint64_t i = 0; i < 5; ++i)
    served.Enter(1000 + i * 1'000'000, 200, 64, 500'000 + i * 1'000'000);
  EXPECT_EQ(served.arrived, 1000);
  EXPECT_NEAR(served.busy(), 1e3 * 512 / 1.3, 2);
}

// At 1 Tbit/s 64 bytes take half a tick, and a count of whole ticks has nothing to tell.
TEST_P(TimedCounts, HaveTheTimeOfSendingWhereAPacketTakesLessThanATick) {
  CountedLinks served({.bits_per_second = kMaxLinkRate, .discipline = discipline()}, in_batches());
  for (uint64_t i = 0; i < 5; ++i) served.Enter(1000 + i * 10'000, 200, 64, 5000 + i * 10'000);
  EXPECT_EQ(served.arrived, 1000);
  EXPECT_NEAR(served.busy(), 1e3 * 0.512, 3);
}

INSTANTIATE_TEST_SUITE_P(Disciplines, TimedCounts,
                         testing::Combine(testing::Values(Discipline::kFifo, Discipline::kPriority,
                                                          Discipline::kProcessorSharing),
                                          testing::Bool()));

// The time of packets that wait is counted when they come, by the old rate.
TEST(TimedCounters, TakeBackTheTimeOfPacketsThatOtherSettingsServe) {
  CountedLinks served({.bits_per_second = 1'300'000'000}, false);
  served.Enter(1000, 100, 64, 1000);
  // The first one is being sent until 1394. The others are sent at half the rate from then on.
  served.Set({.bits_per_second = 650'000'000}, 1100);
  served.Release(UINT64_MAX / 2);
  EXPECT_EQ(served.arrived, 100);
  EXPECT_NEAR(served.busy(), 512 / 1.3 + 99 * 512 / 0.65, 2);
}

// 9018 bytes at 1 kbit/s take 72.144 s, and 400,000 packets 334 days, at 2.5 GHz more ticks than
// `busy` can tell.
TEST(TimedCounters, HaveTheTimeOfSendingWhereTheQueueTakesLongerThanTheyCanTell) {
  constexpr uint64_t kSecond = 2'500'000'000, kBegin = 1000, kPacket = 72'144 * (kSecond / 1000);
  TimedCounters counters;
  uint64_t until = kBegin;
  for (int i = 0; i < 400'000; ++i) {
    counters.AddBusy(TimedCounters::BusyOf(AtTick(kPacket)), until += kPacket);
  }
  EXPECT_EQ(counters.BusyBy(kBegin), 0u);
  EXPECT_EQ(counters.BusyBy(kBegin + 10 * kSecond), 10 * kSecond);
  EXPECT_EQ(counters.BusyBy(kBegin - 5), 0u) << "it never goes below nothing";
}

// A packet is lost where 63 of its random bits are below the loss.
TEST(LinkLoss, IsAsRareAsAsked) {
  const auto loss = [](double asked) { return ToServed({.loss = asked}, 1e9).loss; };
  EXPECT_EQ(loss(0), 0u);
  EXPECT_EQ(loss(1), uint64_t{1} << 63);
  EXPECT_EQ(loss(0.25), uint64_t{1} << 61);
  EXPECT_NEAR(static_cast<double>(loss(1e-10)), 922'337'203.7, 1);
  EXPECT_EQ(loss(1e-30), 1u) << "rare, not never";
  EXPECT_TRUE(ToServed({.loss = 1}, 1e9).Loses(UINT64_MAX));
  EXPECT_TRUE(ToServed({.loss = 1e-10}, 1e9).Loses(0));
  EXPECT_FALSE(ToServed({.loss = 1e-10}, 1e9).Loses(uint64_t{1} << 32));
  EXPECT_FALSE(ToServed({}, 1e9).Loses(0));
}

}  // namespace
}  // namespace bfly::dataplane
