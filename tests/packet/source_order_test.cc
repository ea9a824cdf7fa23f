// SPDX-License-Identifier: Apache-2.0
// Several built-in sources before links that take time, under a worker that comes late: packets
// come in the order of their births, whichever source sends them. A TSC tick counts as a nanosecond
// here.
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/links/link_shape.h"
#include "dataplane/stages/segment.h"
#include "dataplane/stages/timed_links.h"
#include "dataplane/traffic/source_inlet.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

constexpr double kSourceHz = 1e9;
constexpr uint64_t kAllAreDue = 3'000'000;  // all packets of these tests are due by then

class BirthSink final : public Outlet {
 public:
  int Send(const Descriptor* burst, int count, Ledger& ledger) override {
    for (int i = 0; i < count; ++i) arrived[uint64_t{burst[i].time}] = ArrivalOf(burst[i]);
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }

  std::map<uint64_t, uint64_t> arrived;  // by birth
};

class SourceOrderTest : public testing::Test {
 protected:
  // Row 0 sends `packets` packets to row 0 from `start` on.
  std::shared_ptr<Source> Constant(double rate, uint64_t packets, uint64_t start) const {
    return Source::Make({.rows = {0},
                         .packets_per_second = rate,
                         .destination = Destination::kRow,
                         .row = 0,
                         .packets = packets},
                        network_, start, kSourceHz);
  }
  void Run(std::vector<std::shared_ptr<Source>> sources) {
    set_ = std::make_unique<SourceInlet::Set>(std::move(sources));
    inlet_.Publish(set_.get());
    inlet_.Refresh();
  }
  // The births of what comes in calls of `room`, until a call finds nothing.
  std::vector<uint64_t> Births(int room) {
    std::vector<uint64_t> births;
    std::vector<Descriptor> burst(static_cast<size_t>(room));
    for (int n = 1; n > 0;) {
      n = inlet_.ReceiveInOrder(burst.data(), room, ledger_);
      for (int i = 0; i < n; ++i) births.push_back(uint64_t{burst[static_cast<size_t>(i)].time});
    }
    return births;
  }

  const Network network_ = Network::Make({.kind = NetworkKind::kButterfly, .rows = 2}).value();
  const RouteTable routes_{network_, WithoutCircuit::kBestEffort};
  SourceInlet inlet_{routes_, {}, nullptr};
  std::unique_ptr<SourceInlet::Set> set_;
  Ledger ledger_;
  const uint64_t start_ = rte_rdtsc() - kAllAreDue;
};

// 1,900 packets a microsecond apart of one source, and 2 packets a millisecond apart of another
// one. A link sends each of them in 512 ns, so at most one packet waits.
TEST_F(SourceOrderTest, ALateWorkerServesThePacketsOfTwoSourcesInTime) {
  Stage stage(network_, 0);
  const LinkPlan plan{.base = {.bits_per_second = 1'000'000'000, .queue_limit = 100}, .rules = {}};
  const ShapeTable table(plan, 0, network_.rows(), 2, kSourceHz);
  PacketStore store(1 << 20);
  TimedLinks timed(stage.links(), 0, &store, &stage.cold(0), 1);
  stage.OfferShapes(&table, &timed);
  stage.AdoptShapes(0);
  BirthSink sink;
  Segment segment(std::vector<Stage*>{&stage});
  segment.AddInlet(&inlet_, false);
  segment.AddLane(Lane::ToEgress(&sink));
  Run({Constant(1e6, 1900, start_), Constant(1e3, 2, start_ + 600)});

  Account account;
  LatenessMeter lateness;
  for (int pass = 0; pass < 100; ++pass) {
    segment.OpenRoom();
    segment.RunTimed(rte_rdtsc(), account, lateness);
    segment.Settle(account);
  }

  std::vector<uint64_t> births{start_ + 600, start_ + 1'000'600};
  for (uint64_t i = 0; i < 1900; ++i) births.push_back(start_ + 1000 * i);
  std::sort(births.begin(), births.end());
  std::map<uint64_t, uint64_t> expected;
  uint64_t free = 0;
  for (const uint64_t birth : births) expected[birth] = free = std::max(free, birth) + 512;
  EXPECT_EQ(account.ledger.dropped_total(), 0u);
  EXPECT_EQ(sink.arrived, expected);
}

TEST_F(SourceOrderTest, ManySourcesSendInTheOrderInWhichTheirPacketsAreDue) {
  std::vector<std::shared_ptr<Source>> sources;
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t gap = 1000 + 37 * i;
    sources.push_back(Constant(1e9 / static_cast<double>(gap), 50, start_ + 11 * i));
    for (uint64_t k = 0; k < 50; ++k) expected.push_back(start_ + 11 * i + k * gap);
  }
  std::sort(expected.begin(), expected.end());
  Run(std::move(sources));
  const std::vector<uint64_t> births = Births(7);
  EXPECT_TRUE(std::is_sorted(births.begin(), births.end()));
  ASSERT_EQ(births.size(), expected.size());
  // The gaps are not binary fractions.
  for (size_t i = 0; i < births.size(); ++i) {
    ASSERT_LE(births[i], expected[i] + 1) << i;
    ASSERT_GE(births[i] + 1, expected[i]) << i;
  }
  EXPECT_EQ(inlet_.NextDue(), UINT64_MAX);
}

// Packets are due in the middle of a tick, and two of them in the same tick.
TEST_F(SourceOrderTest, SourcesWithPacketsInOneTickDoNotHoldEachOtherBack) {
  Run({Constant(4e8, 100, start_), Constant(4e8, 100, start_)});
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 100; ++i) expected.insert(expected.end(), 2, start_ + i * 5 / 2);
  EXPECT_EQ(Births(64), expected);
}

// The first source sends its last packets before those of the other one that are due later, and
// later than they were due itself.
TEST_F(SourceOrderTest, ASourceThatHasFinishedSaysWhenItSentItsLastPacket) {
  const std::shared_ptr<Source> first = Constant(1e6, 1000, start_);
  Run({first, Constant(1e6, 2000, start_ + 500)});
  ASSERT_EQ(Births(64).size(), 3000u);
  ASSERT_TRUE(first->counters().finished);
  EXPECT_GE(first->SecondsAt(rte_rdtsc()), static_cast<double>(kAllAreDue) / kSourceHz);
}

TEST_F(SourceOrderTest, ASourceThatSendsAsFastAsItMayComesAfterWhatWasDueBefore) {
  Run({Constant(0, 40, start_), Constant(1e6, 30, start_)});
  const std::vector<uint64_t> births = Births(16);
  ASSERT_EQ(births.size(), 70u);
  for (uint64_t i = 0; i < 30; ++i) EXPECT_EQ(births[i], start_ + 1000 * i);
  EXPECT_TRUE(std::is_sorted(births.begin(), births.end()));
  EXPECT_GT(births[30], start_ + kAllAreDue);
}

TEST_F(SourceOrderTest, ASourceWhosePacketsAreDroppedHoldsTheOthersBackUntilItHasLookedAtThem) {
  RouteTable only_circuits(network_, WithoutCircuit::kDrop);
  SourceInlet inlet(only_circuits, {}, nullptr);
  // Row 0 has a circuit to row 0, and none to row 1.
  only_circuits.Install(0, GreedyTag(network_, 0, 0));
  const SourceConfig dropped{.rows = {0},
                             .packets_per_second = 1e6,
                             .destination = Destination::kRow,
                             .row = 1,
                             .packets = 1000};
  SourceInlet::Set set(std::vector<std::shared_ptr<Source>>{
      Source::Make(dropped, network_, start_, kSourceHz), Constant(1e6, 2, start_ + 900'500)});
  inlet.Publish(&set);
  inlet.Refresh();
  Descriptor burst[16];
  int calls = 1;
  // 901 packets are due before the first one of the other source, and a call looks at 4 x 16.
  while (inlet.ReceiveInOrder(burst, 16, ledger_) == 0) ASSERT_LT(++calls, 100);
  EXPECT_EQ(calls, 15);
  EXPECT_EQ(burst[0].time, start_ + 900'500);
}

}  // namespace
}  // namespace bfly::dataplane
