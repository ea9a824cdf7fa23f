// SPDX-License-Identifier: Apache-2.0
// What a worker tells of its own cost: polls, bursts, hops and ring occupancy as counted by hand,
// and cycles between what the packets take at least and what the clock on the wall allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <deque>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/stage_counters.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;

// Brings bursts of the sizes that it was given, one a poll, and takes `seconds` for each that is
// not empty.
class BurstInlet final : public Inlet {
 public:
  explicit BurstInlet(const Network& network) : network_(network) {}
  void Add(std::initializer_list<int> sizes) { sizes_.insert(sizes_.end(), sizes); }
  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    ++polls_;
    if (sizes_.empty()) return 0;
    const int count = sizes_.front();
    EXPECT_LE(count, room);
    sizes_.pop_front();
    for (int i = 0; i < count; ++i) {
      const Row input = static_cast<Row>(i) % network_.rows();
      burst[i] = {.tag = ToWire(GreedyTag(network_, input, input), network_.hops()),
                  .mbuf = nullptr,
                  .time = rte_rdtsc(),
                  .row = input,
                  .bytes = 100,
                  .input = static_cast<uint16_t>(input)};
    }
    ledger.injected += static_cast<uint64_t>(count);
    if (count > 0 && seconds > 0) {
      rte_delay_us_block(static_cast<unsigned>(seconds * 1e6));
    }
    return count;
  }
  size_t left() const { return sizes_.size(); }
  uint64_t polls() const { return polls_; }
  double seconds = 0;

 private:
  const Network& network_;
  uint64_t polls_ = 0;
  std::deque<int> sizes_;
};

class Sink final : public Outlet {
 public:
  int Send(const Descriptor*, int count, Ledger& ledger) override {
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
};

// A worker of all stages of a butterfly of 32 rows, whose passes the test makes.
class WorkerCost : public testing::Test {
 protected:
  WorkerCost() {
    std::vector<Stage*> hops;
    for (int s = 0; s < network_.stages(); ++s) {
      hops.push_back(stages_.emplace_back(std::make_unique<Stage>(network_, s)).get());
      worker_.AddStage(hops.back());
    }
    segment_ = std::make_unique<Segment>(hops);
    segment_->AddInlet(&inlet_, false);
    segment_->AddLane(Lane::ToEgress(&sink_));
    worker_.AddSegment(segment_.get());
    fused_ = std::make_unique<FusedStages>(
        network_, 0, std::vector<Stage*>(hops.begin(), hops.begin() + 3), RowRange{0, 31});
  }
  void Fuse() { segment_->Fuse(0, fused_.get()); }
  void Pass(int passes) {
    for (int i = 0; i < passes; ++i) worker_.Pass();
  }
  // All links that packets crossed, by what the links themselves count.
  uint64_t LinkPackets() const {
    uint64_t sum = 0;
    for (const auto& stage : stages_) {
      for (uint32_t link = 0; link < stage->links(); ++link)
        sum += StageCounters(*stage).Of(link, 1).packets;
    }
    return sum;
  }

  const Network network_ = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 32});
  BurstInlet inlet_{network_};
  Sink sink_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<FusedStages> fused_;
  std::unique_ptr<Segment> segment_;
  Worker worker_{0, IdleMode::kPoll};
};

TEST_F(WorkerCost, PollsAndBurstsAreThoseThatTheInletSaw) {
  inlet_.Add({1, 2, 3, 0, 64, 63, 32, 31, 0, 16, 15, 8, 7, 4, 0, 64, 64, 64, 64});
  while (inlet_.left() > 0) Pass(1);
  Pass(3);
  const PollCounts polls = worker_.polls();
  EXPECT_EQ(polls.packets, 6u + 190 + 50 + 256);
  EXPECT_EQ(polls.polls(), inlet_.polls());
  EXPECT_EQ(polls.empty(), inlet_.polls() - 16);
  EXPECT_GE(polls.empty(), 3u + 3) << "three by the list, one in each of the last passes";
  EXPECT_THAT(polls.by_size, ElementsAre(polls.empty(), 1, 2, 2, 2, 2, 2, 5));
}

TEST_F(WorkerCost, HopsArePacketsTimesStagesHoweverTheyCross) {
  inlet_.Add({20, 0});
  Pass(2);
  EXPECT_EQ(worker_.busy().hops, 100u);
  Fuse();
  inlet_.Add({7, 0});
  Pass(2);
  EXPECT_EQ(worker_.busy().hops, 135u);
  stages_[1]->SetLinkUp(0, false);  // crossed one by one again; row 0 goes on at port 0
  inlet_.Add({20, 0});
  Pass(2);
  EXPECT_EQ(worker_.busy().hops, 135u + 100 - 4) << "a packet is dropped behind its first hop";
  EXPECT_EQ(LinkPackets(), worker_.busy().hops);
}

TEST_F(WorkerCost, CyclesAreThoseOfPassesThatMovedPackets) {
  constexpr int kPasses = 10;
  inlet_.seconds = 1e-3;
  const double hz = static_cast<double>(TscHz());
  uint64_t of_passes = 0;
  for (int i = 0; i < kPasses; ++i) {
    inlet_.Add({10, 0});
    const uint64_t began = rte_rdtsc();
    Pass(2);
    of_passes += rte_rdtsc() - began;
    rte_delay_us_block(3000);  // behind a pass that moved nothing
  }
  const HopCycles busy = worker_.busy();
  EXPECT_EQ(busy.hops, 10u * kPasses * 5);
  EXPECT_GE(static_cast<double>(busy.cycles), kPasses * inlet_.seconds * hz);
  EXPECT_LE(busy.cycles, of_passes);
}

TEST_F(WorkerCost, EveryStageIsSampledInOneBatchOf256) {
  Fuse();
  const uint64_t began = rte_rdtsc();
  for (uint32_t i = 0; i < 2 * Segment::kSampledBatches; ++i) {
    inlet_.Add({9, 0});
    Pass(1);
  }
  const uint64_t all = rte_rdtsc() - began;
  const std::vector<StageCost> costs = worker_.stage_costs();
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].first_stage, 0);
  EXPECT_EQ(costs[0].stages, 3);
  EXPECT_EQ(costs[0].sampled.hops, 2u * 9 * 3);
  uint64_t sampled = 0;
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(costs[i].first_stage, static_cast<int>(i) + 2);
    EXPECT_EQ(costs[i].stages, 1);
    EXPECT_EQ(costs[i].sampled.hops, 2u * 9);
  }
  for (const StageCost& cost : costs) {
    EXPECT_GT(cost.sampled.cycles, 0u);
    sampled += cost.sampled.cycles;
  }
  EXPECT_LT(sampled, all);
}

TEST_F(WorkerCost, HopsOverLinksThatTakeTimeAreCountedAndSampledToo) {
  const LinkPlan plan{.base = {.bits_per_second = 100'000'000'000}, .rules = {}};
  const auto hz = static_cast<double>(TscHz());
  const ShapeTable table(plan, 4, network_.rows(), network_.ports(), hz);
  PacketStore store(size_t{1} << 20);
  TimedLinks timed(stages_[4]->links(), network_.link_index({4, 0, 0}), &store,
                   &stages_[4]->cold(0), 1);
  stages_[4]->OfferShapes(&table, &timed);
  worker_.epoch()->Ask();
  for (uint32_t i = 0; i < 2 * Segment::kSampledBatches; ++i) {
    inlet_.Add({9, 0});
    Pass(1);
  }
  rte_delay_us_block(100);
  Pass(2);
  const HopCycles busy = worker_.busy();
  EXPECT_EQ(busy.hops, 2u * Segment::kSampledBatches * 9 * 5);
  EXPECT_EQ(LinkPackets(), busy.hops);
  const std::vector<StageCost> costs = worker_.stage_costs();
  ASSERT_EQ(costs.size(), 5u);
  for (const StageCost& cost : costs) {
    EXPECT_EQ(cost.stages, 1);
    EXPECT_EQ(cost.sampled.hops, 2u * 9) << cost.first_stage;
    EXPECT_GT(cost.sampled.cycles, 0u);
  }
}

// A worker may sleep behind a pass that only carried packets from link to link.
TEST_F(WorkerCost, NoCyclesCountBehindAPassThatLeftTheAccountAsItWas) {
  const auto hz = static_cast<double>(TscHz());
  PacketStore store(size_t{1} << 20);
  std::deque<ShapeTable> tables;
  std::vector<std::unique_ptr<TimedLinks>> timed;
  for (const int stage : {2, 4}) {
    // A millisecond, and a minute: no packet leaves stage 4 during the test.
    const LinkPlan plan{.base = {.delay_ns = stage == 2 ? 1'000'000u : 60'000'000'000u},
                        .rules = {}};
    tables.emplace_back(plan, stage, network_.rows(), network_.ports(), hz);
    timed.push_back(std::make_unique<TimedLinks>(stages_[stage]->links(),
                                                 network_.link_index({stage, 0, 0}), &store,
                                                 &stages_[stage]->cold(0), 1));
    stages_[stage]->OfferShapes(&tables.back(), timed.back().get());
  }
  worker_.epoch()->Ask();
  inlet_.Add({9, 0});
  const uint64_t began = rte_rdtsc();
  Pass(1);
  EXPECT_EQ(LinkPackets(), 9u * 3) << "up to the first links that take time";
  // The cycles of the first pass end when the second one begins.
  bool left_another_account = worker_.Pass();
  uint64_t counted = rte_rdtsc() - began;
  while (LinkPackets() < 9u * 5 && static_cast<double>(rte_rdtsc() - began) < 30 * hz) {
    const uint64_t pass_began = rte_rdtsc();
    const uint64_t crossed = LinkPackets();
    left_another_account = worker_.Pass();
    if (LinkPackets() != crossed) counted += rte_rdtsc() - pass_began;
  }
  EXPECT_FALSE(left_another_account) << "over stages 3 and 4; as many are inside as before";
  EXPECT_EQ(worker_.busy().hops, 9u * 5);
  rte_delay_us_block(500);
  Pass(1);
  EXPECT_LE(worker_.busy().cycles, counted);
}

TEST(RingOccupancy, IsWhatWaitsAndTheMostThatEverDid) {
  Ring ring(16);
  Descriptor burst[16] = {};
  EXPECT_EQ(ring.capacity(), 15u);
  EXPECT_EQ(ring.Push(burst, 5), 5u);
  EXPECT_EQ(ring.Push(burst, 3), 3u);
  EXPECT_EQ(ring.Pop(burst, 6), 6u);
  EXPECT_EQ(ring.Push(burst, 1), 1u);
  EXPECT_EQ(ring.waiting(), 3u);
  EXPECT_EQ(ring.peak(), 8u);
  EXPECT_EQ(ring.Push(burst, 16), 12u);
  EXPECT_EQ(ring.peak(), 15u);
}

TEST(RunningFabric, TellsWhatItsWorkersCost) {
  const FabricConfig config = Placed(NetworkKind::kButterfly, 16, {0, 0, OtherCpu(), OtherCpu()});
  const uint64_t began = rte_rdtsc();
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  SendAllPairs(*fabric);
  constexpr uint64_t kPackets = 16 * 16;
  // A worker's last pass counts when its next pass has begun.
  const Snapshot s = WaitUntil(*fabric, [](const Snapshot& now) {
    return std::ranges::all_of(
        now.workers, [](const WorkerCounters& worker) { return worker.busy.hops == kPackets * 2; });
  });
  const uint64_t wall = rte_rdtsc() - began;
  EXPECT_EQ(s.tsc_hz, TscHz());
  ASSERT_EQ(s.workers.size(), 2u);
  for (const WorkerCounters& worker : s.workers) {
    EXPECT_EQ(worker.busy.hops, kPackets * 2) << "half of four stages";
    EXPECT_EQ(worker.polls.packets, kPackets);
    EXPECT_GT(worker.busy.cycles, 0u);
    EXPECT_LT(worker.busy.cycles, wall);
  }
  EXPECT_TRUE(s.workers[0].rings.empty());
  ASSERT_EQ(s.workers[1].rings.size(), 1u);
  const RingOccupancy& ring = s.workers[1].rings[0];
  EXPECT_EQ(ring.from_lcore, s.workers[0].lcore);
  EXPECT_EQ(ring.waiting, 0u);
  EXPECT_GE(ring.peak, 1u);
  EXPECT_LE(ring.peak, kPackets);
  EXPECT_EQ(ring.capacity, 1023u);
}

}  // namespace
}  // namespace bfly::dataplane
