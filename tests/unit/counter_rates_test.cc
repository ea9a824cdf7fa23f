// SPDX-License-Identifier: Apache-2.0
// Rates of two pictures, reckoned by hand.
#include "control/rates/counter_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

namespace bfly::control {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

v1::Counters At(int64_t seconds) {
  v1::Counters picture;
  picture.set_monotonic_ns(seconds * kSecond);
  return picture;
}

v1::LinkCounters* Add(v1::Counters& picture, uint32_t stage, uint32_t row, uint32_t port,
                      uint64_t packets) {
  v1::LinkCounters* link = picture.add_links();
  link->set_stage(stage);
  link->set_row(row);
  link->set_port(port);
  link->set_packets(packets);
  return link;
}

TEST(CounterRates, ALinkHasWhatGrewOverTheTimeBetween) {
  v1::Counters before = At(10), now = At(14);
  v1::LinkCounters* old = Add(before, 1, 2, 0, 100);
  old->set_bytes(6400);
  old->add_drops()->set_packets(1);
  old->set_busy_ns(kSecond);
  v1::LinkCounters* link = Add(now, 1, 2, 0, 500);
  link->set_bytes(32'000);
  link->add_drops()->set_packets(3);
  link->add_drops()->set_packets(6);
  link->set_busy_ns(2 * kSecond);
  const Counts counts = CountsOf(before, true);
  CounterRates rates(now, &counts);
  EXPECT_EQ(rates.seconds(), 4);
  const LinkRate rate = rates.Of(*link);
  EXPECT_TRUE(rate.is_known);
  EXPECT_DOUBLE_EQ(rate.packets, 100);
  EXPECT_DOUBLE_EQ(rate.bytes, 6400);
  EXPECT_DOUBLE_EQ(rate.drops, 2);
  EXPECT_DOUBLE_EQ(rate.busy, 0.25);
}

TEST(CounterRates, ALinkThatWasNotThereHadCarriedNothingOrIsUnknown) {
  v1::Counters before = At(1), now = At(3);
  Add(before, 0, 0, 0, 5);
  const v1::LinkCounters& link = *Add(now, 0, 1, 0, 50);
  const Counts all = CountsOf(before, true), some = CountsOf(before, false);
  EXPECT_DOUBLE_EQ(CounterRates(now, &all).Of(link).packets, 25);
  EXPECT_FALSE(CounterRates(now, &some).Of(link).is_known);
  EXPECT_EQ(CounterRates(now, &some).Of(link).packets, 0);
}

// Its data plane was away for one picture. The whole count since the load must not pass for what
// grew in one second.
TEST(CounterRates, OfALinkThatWasMissingInThePictureBeforeNoRateIsKnown) {
  v1::Counters with = At(1), without = At(2), again = At(3);
  Add(with, 0, 0, 0, 1'000'000);
  Add(with, 1, 0, 0, 10);
  Add(with, 2, 0, 0, 500);
  without.set_links_missing(true);
  Add(without, 1, 0, 0, 30);
  const v1::LinkCounters bare = *Add(without, 2, 0, 0, 0);  // its circuits are known
  const v1::LinkCounters gone = *Add(again, 0, 0, 0, 1'000'020);
  const v1::LinkCounters stayed = *Add(again, 1, 0, 0, 60);
  const v1::LinkCounters counted = *Add(again, 2, 0, 0, 520);
  const Counts before = CountsOf(without, true);
  CounterRates rates(again, &before);
  EXPECT_FALSE(rates.Of(gone).is_known);
  EXPECT_EQ(rates.Of(gone).packets, 0);
  EXPECT_FALSE(rates.Of(counted).is_known);
  EXPECT_DOUBLE_EQ(rates.Of(stayed).packets, 30);
  // A picture with every link is comparable again.
  const Counts complete = CountsOf(with, true);
  EXPECT_DOUBLE_EQ(CounterRates(again, &complete).Of(gone).packets, 10);
  EXPECT_FALSE(CounterRates(without, &complete).Of(bare).is_known);
}

TEST(CounterRates, ACountThatFellBeganAnewAtNothing) {
  v1::Counters before = At(1), now = At(3);
  Add(before, 0, 0, 0, 1000);
  const v1::LinkCounters& link = *Add(now, 0, 0, 0, 60);
  before.mutable_conservation()->set_injected(1000);
  now.mutable_conservation()->set_injected(40);
  const Counts counts = CountsOf(before, true);
  CounterRates rates(now, &counts);
  EXPECT_DOUBLE_EQ(rates.Of(link).packets, 30);
  EXPECT_DOUBLE_EQ(rates.account().injected, 20);
}

TEST(CounterRates, PacketsThatWereNotLostAfterAllAreNoDrops) {
  v1::Counters before = At(1), now = At(2);
  before.mutable_conservation()->set_injected(5'000'000);
  before.mutable_conservation()->set_dropped(1'000'005);
  now.mutable_conservation()->set_injected(5'000'010);
  now.mutable_conservation()->set_dropped(1'000'002);
  const Counts counts = CountsOf(before, true);
  EXPECT_EQ(CounterRates(now, &counts).account().dropped, 0);
  EXPECT_DOUBLE_EQ(CounterRates(now, &counts).account().injected, 10);
  now.mutable_conservation()->set_injected(100);
  now.mutable_conservation()->set_dropped(7);
  EXPECT_DOUBLE_EQ(CounterRates(now, &counts).account().dropped, 7);
}

TEST(CounterRates, ALinkThatFellBackByOneFrameHasSentNothing) {
  v1::Counters before = At(1), now = At(3);
  Add(before, 0, 0, 0, 1000)->set_busy_ns(kSecond);
  v1::LinkCounters* link = Add(now, 0, 0, 0, 1000);
  link->set_busy_ns(kSecond - 1);
  const Counts counts = CountsOf(before, true);
  EXPECT_EQ(CounterRates(now, &counts).Of(*link).busy, 0);
  // Its data plane began anew.
  link->set_packets(999);
  EXPECT_DOUBLE_EQ(CounterRates(now, &counts).Of(*link).busy, (kSecond - 1) / 2e9);
}

TEST(CounterRates, WithoutTimeBetweenNothingIsKnown) {
  v1::Counters before = At(3);
  Add(before, 0, 0, 0, 10);
  before.mutable_conservation()->set_delivered(10);
  const Counts counts = CountsOf(before, true);
  v1::Counters never = At(0), same = At(3), earlier = At(2);
  for (v1::Counters* picture : {&never, &same, &earlier}) {
    const v1::LinkCounters& link = *Add(*picture, 0, 0, 0, 90);
    picture->mutable_conservation()->set_delivered(90);
    CounterRates rates(*picture, &counts);
    EXPECT_EQ(rates.seconds(), 0);
    EXPECT_FALSE(rates.Of(link).is_known);
    EXPECT_EQ(rates.account().delivered, 0);
  }
  CounterRates first(same, nullptr);
  EXPECT_EQ(first.seconds(), 0);
  EXPECT_FALSE(first.Of(same.links(0)).is_known);
  EXPECT_EQ(first.account().delivered, 0);
}

TEST(CounterRates, PortsAreKnownByDataPlaneAndName) {
  v1::Counters before = At(1), now = At(3);
  for (v1::Counters* picture : {&before, &now}) {
    for (const char* plane : {"dp0", "dp1"}) {
      v1::PortCounters* port = picture->add_ports();
      port->set_data_plane(plane);
      port->set_name("h0");
    }
  }
  before.mutable_ports(1)->set_rx_packets(10);
  now.mutable_ports(1)->set_rx_packets(30);
  now.mutable_ports(1)->set_tx_bytes(128);
  now.mutable_ports(0)->set_rx_missed(4);
  v1::PortCounters* added = now.add_ports();
  added->set_name("h9");
  added->set_rx_packets(7);
  const Counts counts = CountsOf(before, false);
  const CounterRates rates(now, &counts);
  EXPECT_DOUBLE_EQ(rates.Of(now.ports(1)).rx_packets, 10);
  EXPECT_DOUBLE_EQ(rates.Of(now.ports(1)).tx_bytes, 64);
  EXPECT_DOUBLE_EQ(rates.Of(now.ports(0)).rx_missed, 2);
  EXPECT_EQ(rates.Of(now.ports(0)).rx_packets, 0);
  EXPECT_EQ(rates.Of(now.ports(2)).rx_packets, 0);  // nobody knows what it had before
}

// Pictures in any order, with links that come and go, against a plain search.
TEST(CounterRates, LinksInAnyOrderEqualAPlainSearch) {
  std::mt19937 random(3);
  v1::Counters before = At(1), now = At(2);
  for (v1::Counters* picture : {&before, &now}) {
    for (uint32_t place = 0; place < 200; ++place) {
      if (random() % 3 == 0) continue;
      Add(*picture, place / 50, place / 2 % 25, place % 2, random() % 1000);
    }
    for (int i = picture->links_size() - 1; i > 0; --i)
      picture->mutable_links()->SwapElements(i, static_cast<int>(random() % (i + 1)));
  }
  const Counts counts = CountsOf(before, true);
  CounterRates rates(now, &counts);
  for (const v1::LinkCounters& link : now.links()) {
    uint64_t old = 0;
    for (const v1::LinkCounters& one : before.links()) {
      if (one.stage() == link.stage() && one.row() == link.row() && one.port() == link.port())
        old = one.packets();
    }
    const uint64_t grown = link.packets() >= old ? link.packets() - old : link.packets();
    EXPECT_DOUBLE_EQ(rates.Of(link).packets, static_cast<double>(grown));
  }
}

}  // namespace
}  // namespace bfly::control
