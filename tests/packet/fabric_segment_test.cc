// SPDX-License-Identifier: Apache-2.0
// The passes of one worker, played by hand: which packets wait, are promised or are dropped. The
// account balances after every pass.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "dataplane/fabric/worker.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/stage_counters.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

// Hands out a fixed list of packets.
class ListInlet final : public Inlet {
 public:
  explicit ListInlet(const Network& network) : network_(network) {}
  void Add(Row input, Row output, int times = 1) {
    for (int i = 0; i < times; ++i) {
      packets_.push_back({.tag = ToWire(GreedyTag(network_, input, output), network_.hops()),
                          .mbuf = nullptr,
                          .time = 0,
                          .row = input,
                          .bytes = 100,
                          .input = static_cast<uint16_t>(input)});
    }
  }
  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    const int n = std::min(room, static_cast<int>(packets_.size() - next_));
    std::copy_n(packets_.begin() + static_cast<ptrdiff_t>(next_), n, burst);
    next_ += static_cast<size_t>(n);
    ledger.injected += static_cast<uint64_t>(n);
    return n;
  }

 private:
  const Network& network_;
  std::vector<Descriptor> packets_;
  size_t next_ = 0;
};

// Takes `room` packets in total.
class BoundedSink final : public Outlet {
 public:
  int Send(const Descriptor*, int count, Ledger& ledger) override {
    const int n = std::min(count, room);
    room -= n;
    if (trunk) {
      ledger.handed_on += static_cast<uint64_t>(n);
    } else {
      ledger.delivered += static_cast<uint64_t>(n);
    }
    return n;
  }
  int room = 1 << 30;
  bool trunk = false;
};

// A trunk that takes packets into a buffer of 8 and sends them only while it is open.
class BufferedTrunk final : public Outlet {
 public:
  int Send(const Descriptor*, int count, Ledger&) override {
    const int n = std::min(count, 8 - buffered);
    buffered += n;
    return n;
  }
  void Flush(Ledger& ledger) override {
    if (open) ledger.handed_on += static_cast<uint64_t>(std::exchange(buffered, 0));
  }
  uint64_t held() const override { return static_cast<uint64_t>(buffered); }
  uint64_t Discard() override { return static_cast<uint64_t>(std::exchange(buffered, 0)); }
  int buffered = 0;
  bool open = false;
};

// Counts the packets that it takes, by input.
class CountingSink final : public Outlet {
 public:
  int Send(const Descriptor* burst, int count, Ledger& ledger) override {
    for (int i = 0; i < count; ++i) ++of_input[burst[i].input];
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
  std::map<Row, int> of_input;
};

void ExpectBalanced(const Worker& worker) {
  uint64_t version;
  const Ledger l = worker.account(version).ledger;
  EXPECT_EQ(l.injected + l.taken_over, l.delivered + l.dropped_total() + l.handed_on + l.held);
}

Ledger LedgerOf(const Worker& worker) {
  uint64_t version;
  return worker.account(version).ledger;
}

// Stage 0 of a butterfly of 4 rows on a worker that hands on to a ring of 7 places.
class FirstStage : public testing::Test {
 protected:
  void Build() {
    segment_.AddInlet(&inlet_, false);
    segment_.AddLane(Lane::ToRing(&ring_, &stage_));
    worker_.AddSegment(&segment_);
  }
  void Adopt(const ShapeTable& table) {
    stage_.OfferShapes(&table, nullptr);
    stage_.AdoptShapes(0);
  }
  static LinkPlan TwoWait() {
    LinkPlan plan;
    plan.base.queue_limit = 2;
    return plan;
  }
  uint32_t occupancy(Row row, int port) {
    return stage_.cold(row * 2 + static_cast<uint32_t>(port)).occupancy.load();
  }
  uint32_t peak(Row row, int port) {
    return stage_.cold(row * 2 + static_cast<uint32_t>(port)).peak.load();
  }
  // Takes packets as the next worker would.
  uint32_t Take(uint32_t count) {
    Descriptor burst[kBurst];
    return ring_.Pop(burst, count);
  }

  Network network_ = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  Stage stage_{network_, 0};
  Ring ring_{8};
  ListInlet inlet_{network_};
  Segment segment_{{&stage_}};
  Worker worker_{0, IdleMode::kAdaptive};
  const ShapeTable two_wait_{TwoWait(), 0, 4, 2, /*tsc_hz=*/1e9};
};

TEST_F(FirstStage, WhatTheRingDoesNotTakeWaitsOnItsLink) {
  Build();
  inlet_.Add(0, 0, 4);  // row 0, port 0
  inlet_.Add(0, 2, 6);  // row 0, port 1: stage 0 sets the left bit
  EXPECT_TRUE(worker_.Pass());
  ExpectBalanced(worker_);
  EXPECT_EQ(LedgerOf(worker_).handed_on, 7u);
  EXPECT_EQ(LedgerOf(worker_).held, 3u);
  EXPECT_EQ(occupancy(0, 0), 0u);
  EXPECT_EQ(occupancy(0, 1), 3u);
  // The ring is full: nothing moves, and nothing new comes in.
  inlet_.Add(3, 3);
  EXPECT_FALSE(worker_.Pass());
  EXPECT_EQ(LedgerOf(worker_).injected, 10u);
  EXPECT_EQ(Take(2), 2u);
  EXPECT_TRUE(worker_.Pass());
  EXPECT_EQ(occupancy(0, 1), 1u);
  EXPECT_EQ(Take(kBurst), 7u);
  EXPECT_TRUE(worker_.Pass());
  EXPECT_EQ(occupancy(0, 1), 0u);
  EXPECT_EQ(peak(0, 1), 3u);
  EXPECT_TRUE(worker_.Pass());
  ExpectBalanced(worker_);
  EXPECT_EQ(LedgerOf(worker_).injected, 11u);
  EXPECT_EQ(LedgerOf(worker_).handed_on, 11u);
}

// Where several trunks lead to the next stage, packets of one input would overtake each other on
// two.
TEST_F(FirstStage, PacketsOfOneInputKeepToOneOfTheLanes) {
  CountingSink sinks[2];
  segment_.AddInlet(&inlet_, false);
  for (CountingSink& sink : sinks) segment_.AddLane(Lane::ToEgress(&sink));
  segment_.SetLaneGroups({.group_of_row = std::vector<uint16_t>(4), .groups = {{0, 1}}});
  worker_.AddSegment(&segment_);
  for (int round = 0; round < 6; ++round) {
    for (Row input : {0, 1, 2}) inlet_.Add(input, static_cast<Row>(round) % 4);
  }
  EXPECT_TRUE(worker_.Pass());
  ExpectBalanced(worker_);
  using ByInput = std::map<Row, int>;
  EXPECT_EQ(sinks[0].of_input, (ByInput{{0, 6}, {2, 6}}));
  EXPECT_EQ(sinks[1].of_input, (ByInput{{1, 6}}));
}

TEST_F(FirstStage, OfEachLinkNoMoreThanTheLimitWait) {
  Build();
  Adopt(two_wait_);
  inlet_.Add(0, 0, 7);  // fills the ring
  inlet_.Add(1, 1, 5);  // row 1, port 0
  inlet_.Add(1, 3, 1);  // row 1, port 1
  EXPECT_TRUE(worker_.Pass());
  ExpectBalanced(worker_);
  EXPECT_EQ(occupancy(1, 0), 2u);
  EXPECT_EQ(occupancy(1, 1), 1u);
  EXPECT_EQ(LedgerOf(worker_).dropped[static_cast<int>(DropReason::kQueueFull)], 3u);
  EXPECT_EQ(stage_.cold(2).queue_full.load(), 3u);
  EXPECT_EQ(stage_.cold(3).queue_full.load(), 0u);
  EXPECT_EQ(LedgerOf(worker_).held, 3u);
  // Five packets came to the link: two wait, and it refused three.
  std::vector<LinkCounters> all;
  FusedReadings readings;
  StageCounters(stage_).Append(1, readings, all);
  const uint64_t taken[] = {7, 0, 2, 1, 0, 0, 0, 0};
  uint64_t packets[8], bytes[8];
  StageCounters(stage_).Read(LinkFigure::kPackets, 0, 1, packets);
  StageCounters(stage_).Read(LinkFigure::kBytes, 0, 1, bytes);
  for (uint32_t link = 0; link < 8; ++link) {
    SCOPED_TRACE(link);
    const LinkCounters told = StageCounters(stage_).Of(link, 1);
    EXPECT_EQ(told.packets, taken[link]);
    EXPECT_EQ(told.bytes, 100 * taken[link]);
    EXPECT_EQ(all[link].packets, taken[link]);
    EXPECT_EQ(all[link].bytes, 100 * taken[link]);
    EXPECT_EQ(packets[link], taken[link]);
    EXPECT_EQ(bytes[link], 100 * taken[link]);
  }
}

// A reader comes when packets have crossed the stage, and before three of them are dropped.
TEST_F(FirstStage, WhatALinkTookNeverBecomesLess) {
  Build();
  Adopt(two_wait_);
  const auto pass = [this](auto between) {
    Account account;
    segment_.Run(account);
    between();
    segment_.Settle(account);
    segment_.HandOver();
  };
  const auto taken = [this] { return StageCounters(stage_).Of(2, 1).packets; };
  inlet_.Add(0, 0, 7);  // fills the ring
  inlet_.Add(1, 1, 5);
  pass([&] { EXPECT_EQ(taken(), 5u); });
  EXPECT_EQ(taken(), 5u) << "two were taken, and a reader was told of five";
  EXPECT_EQ(Take(kBurst), 7u);
  pass([] {});
  inlet_.Add(1, 1, 2);
  pass([] {});
  EXPECT_EQ(taken(), 5u) << "four were taken";
  inlet_.Add(1, 1, 2);
  pass([] {});
  EXPECT_EQ(taken(), 6u);
  EXPECT_EQ(StageCounters(stage_).Of(2, 1).bytes, 600u);
}

// The packets wait already when their link gets its first limit.
TEST_F(FirstStage, AFirstLimitTakesBackNothingThatWasTold) {
  const ShapeTable none({}, 0, 4, 2, /*tsc_hz=*/1e9);
  Build();
  Adopt(none);
  inlet_.Add(0, 0, 7);  // fills the ring
  inlet_.Add(1, 1, 5);
  EXPECT_TRUE(worker_.Pass());
  EXPECT_EQ(StageCounters(stage_).Of(2, 1).packets, 5u);
  Adopt(two_wait_);
  worker_.Pass();
  EXPECT_EQ(stage_.cold(2).queue_full.load(), 3u);
  EXPECT_EQ(StageCounters(stage_).Of(2, 1).packets, 5u);
}

TEST_F(FirstStage, PromisedPacketsAreInTheAccountBeforeTheNextWorkerCanTakeThem) {
  Build();
  inlet_.Add(2, 1, 3);
  // The steps of a pass, with checks between them.
  Account account;
  segment_.Run(account);
  segment_.Settle(account);
  EXPECT_EQ(account.ledger.handed_on, 3u);
  EXPECT_EQ(Take(kBurst), 0u);
  segment_.HandOver();
  EXPECT_EQ(Take(kBurst), 3u);
}

TEST_F(FirstStage, DiscardGivesBackWhatWaits) {
  Build();
  inlet_.Add(0, 0, 12);
  EXPECT_TRUE(worker_.Pass());
  EXPECT_EQ(segment_.Discard(), 5u);
  EXPECT_EQ(segment_.Discard(), 0u);
}

TEST(Trunk, ThatTakesNothingIsGivenUpAndTriedAgain) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  Stage stage(network, 0);
  ListInlet inlet(network);
  BoundedSink sink;
  sink.trunk = true;
  sink.room = 1;
  Segment segment({&stage});
  segment.AddInlet(&inlet, false);
  segment.AddLane(Lane::ToTrunk(&sink, &stage));
  Worker worker(0, IdleMode::kAdaptive);
  worker.AddSegment(&segment);
  inlet.Add(0, 0, 10);
  worker.Pass();
  EXPECT_EQ(LedgerOf(worker).held, 9u);
  // Waits first, then gives up.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (LedgerOf(worker).held > 0 && std::chrono::steady_clock::now() < deadline) worker.Pass();
  ExpectBalanced(worker);
  EXPECT_EQ(LedgerOf(worker).dropped[static_cast<int>(DropReason::kPortFull)], 9u);
  // The peer is back.
  sink.room = 100;
  inlet.Add(0, 0, 10);
  worker.Pass();
  inlet.Add(0, 0, 10);
  worker.Pass();
  ExpectBalanced(worker);
  uint64_t version;
  EXPECT_EQ(LedgerOf(worker).handed_on, 21u);
  EXPECT_EQ(worker.account(version).trunk_out, 21u);
}

// What an outlet buffers was not sent, so it is no sign that the trunk lives.
TEST(Trunk, ThatOnlyBuffersIsGivenUpForGood) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  Stage stage(network, 0);
  ListInlet inlet(network);
  BufferedTrunk trunk;
  Segment segment({&stage});
  segment.AddInlet(&inlet, false);
  segment.AddLane(Lane::ToTrunk(&trunk, &stage));
  Worker worker(0, IdleMode::kAdaptive);
  worker.AddSegment(&segment);
  const auto dropped = [&] {
    return LedgerOf(worker).dropped[static_cast<int>(DropReason::kPortFull)];
  };
  inlet.Add(0, 0, 1);
  worker.Pass();
  EXPECT_EQ(LedgerOf(worker).held, 1u);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (LedgerOf(worker).held > 0 && std::chrono::steady_clock::now() < deadline) worker.Pass();
  EXPECT_EQ(dropped(), 1u);
  // From then on each pass drops what it brings.
  for (uint64_t pass = 1; pass <= 3; ++pass) {
    inlet.Add(0, 0, 20);
    worker.Pass();
    EXPECT_EQ(dropped(), 1 + 20 * pass);
    ExpectBalanced(worker);
  }
  trunk.open = true;
  inlet.Add(0, 0, 5);
  worker.Pass();
  EXPECT_EQ(LedgerOf(worker).handed_on, 5u);
  ExpectBalanced(worker);
}

TEST(Segment, AsksItsInletsInTurn) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  Stage stage(network, 0);
  ListInlet flood(network), drop(network);
  BoundedSink sink;
  Segment segment({&stage});
  segment.AddInlet(&flood, false);
  segment.AddInlet(&drop, false);
  segment.AddLane(Lane::ToEgress(&sink));
  Worker worker(0, IdleMode::kAdaptive);
  worker.AddSegment(&segment);
  flood.Add(0, 0, 100 * kBatch);
  drop.Add(1, 1, 1);
  worker.Pass();
  EXPECT_EQ(stage.hot(2).packets.load(), 1u) << "a busy inlet does not shut out another";
  ExpectBalanced(worker);
}

TEST(Plan, UnrollsTheSecondPassOfAWrappedButterfly) {
  FabricConfig config;
  config.network = {.kind = NetworkKind::kWrappedButterfly, .rows = 8, .seed = 0, .passes = 2};
  config.placement = {{.first_stage = 0, .last_stage = 1, .lcore = 4},
                      {.first_stage = 2, .last_stage = 2, .lcore = 7}};
  const FabricPlan plan = PlanFabric(config, *Network::Make(config.network));
  EXPECT_EQ(plan.lcores, (std::vector<int>{4, 7}));
  ASSERT_EQ(plan.segments.size(), 4u);
  const int expected[4][3] = {
      {0, 0, 2}, {1, 2, 1}, {0, 3, 2}, {1, 5, 1}};  // worker, first hop, hops
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.segments[i].worker, expected[i][0]);
    EXPECT_EQ(plan.segments[i].first_hop, expected[i][1]);
    EXPECT_EQ(plan.segments[i].hops, expected[i][2]);
  }
}

TEST(Plan, AlternatingStagesAndPollersGetWorkersOfTheirOwn) {
  FabricConfig config;
  config.network = {.kind = NetworkKind::kButterfly, .rows = 16};
  config.placement = {{.first_stage = 0, .last_stage = 0, .lcore = 1},
                      {.first_stage = 1, .last_stage = 1, .lcore = 0},
                      {.first_stage = 2, .last_stage = 2, .lcore = 1},
                      {.first_stage = 3, .last_stage = 3, .lcore = 0}};
  HostPortConfig port;
  port.lcores = {5, 1, 3};
  config.ports = {port};
  const FabricPlan plan = PlanFabric(config, *Network::Make(config.network));
  EXPECT_EQ(plan.lcores, (std::vector<int>{1, 0, 3, 5}));
  ASSERT_EQ(plan.segments.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(plan.segments[i].worker, i % 2);
}

}  // namespace
}  // namespace bfly::dataplane
