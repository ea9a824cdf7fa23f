// SPDX-License-Identifier: Apache-2.0
// Every way to cut a small network into runs of stages and blocks of rows: packets go where they
// went, and every link counts what it counted.
#include "dataplane/stages/plan.h"
#include "tests/packet/cut_placements.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

FabricConfig Cut(NetworkKind kind, uint32_t rows, std::vector<StagePlacement> placement,
                 int passes = 1) {
  FabricConfig config = OneWorker(kind, rows, passes);
  config.placement = std::move(placement);
  return config;
}

void ExpectEveryPairDelivered(const FabricConfig& config) {
  SCOPED_TRACE(Describe(config));
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  SendAllPairs(*fabric);
  uint64_t sent = 0;
  for (const SourceCounters& source : fabric->sources()) {
    EXPECT_TRUE(source.finished);
    sent += source.packets;
  }
  EXPECT_EQ(sent, uint64_t{fabric->network().rows()} * fabric->network().rows());
}

// A plan by itself: a packet that follows any link finds, at every hop, the worker of the rows it
// is in, and where a segment ends another one that begins there.
void ExpectSound(const FabricConfig& config) {
  SCOPED_TRACE(Describe(config));
  const Network network = *Network::Make(config.network);
  const FabricPlan plan = PlanFabric(config, network);
  // segment_at[hop][row]
  std::vector<std::vector<int>> segment_at(network.hops(), std::vector<int>(network.rows(), -1));
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const SegmentPlan& segment = plan.segments[i];
    ASSERT_TRUE(i == 0 || segment.first_hop >= plan.segments[i - 1].first_hop);
    for (int hop = segment.first_hop; hop < segment.end(); ++hop) {
      for (Row row = segment.rows.first; row <= segment.rows.last; ++row) {
        ASSERT_EQ(segment_at[hop][row], -1) << "two segments have it";
        segment_at[hop][row] = static_cast<int>(i);
        ASSERT_EQ(segment.worker, plan.worker_of(network.stage_of_hop(hop), row));
      }
    }
  }
  for (int hop = 0; hop < network.hops(); ++hop) {
    for (Row row = 0; row < network.rows(); ++row) {
      const int here = segment_at[hop][row];
      ASSERT_NE(here, -1);
      for (int port = 0; hop + 1 < network.hops() && port < network.ports(); ++port) {
        const Row head = network.next_row(network.stage_of_hop(hop), row, port);
        const int there = segment_at[hop + 1][head];
        if (there != here) {
          ASSERT_EQ(plan.segment_from(hop + 1, head), there) << hop << " " << row;
          ASSERT_EQ(plan.segments[here].end(), hop + 1);
        }
      }
    }
  }
}

struct Shape {
  NetworkKind kind;
  int passes;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (NetworkKind kind : AllKinds()) shapes.push_back({kind, 1});
  shapes.push_back({NetworkKind::kWrappedButterfly, 2});
  return shapes;
}

TEST(Cuts, EveryWayToCutASmallNetworkGivesAPlanThatLosesNothing) {
  for (const auto& [kind, passes] : Shapes()) {
    SCOPED_TRACE(KindName(kind));
    const FabricConfig whole = OneWorker(kind, 8, passes);
    const int stages = Network::Make(whole.network)->stages();
    for (auto& placement : Placements(stages, 8, kWorkersOfTests)) {
      ExpectSound(Cut(kind, 8, placement, passes));
      // Blocks of two workers in turn: a worker has rows that are not neighbours.
      for (size_t i = 0; i < placement.size(); ++i) placement[i].lcore = LcoreOf(i % 2);
      ExpectSound(Cut(kind, 8, std::move(placement), passes));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Cuts, HalvesOfAButterflyMeetAtItsFirstStageOnly) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 16);
  config.placement[0].rows = {0, 7};
  config.placement.push_back(
      {.first_stage = 0, .last_stage = 3, .lcore = LcoreOf(1), .rows = {8, 15}});
  const FabricPlan plan = PlanFabric(config, *Network::Make(config.network));
  ASSERT_EQ(plan.segments.size(), 4u);
  const int expected[4][4] = {{0, 0, 1, 0}, {1, 0, 1, 8}, {0, 1, 3, 0}, {1, 1, 3, 8}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.segments[i].worker, expected[i][0]);
    EXPECT_EQ(plan.segments[i].first_hop, expected[i][1]);
    EXPECT_EQ(plan.segments[i].hops, expected[i][2]);
    EXPECT_EQ(plan.segments[i].rows.first, static_cast<Row>(expected[i][3]));
  }
}

class CutNetworks : public testing::TestWithParam<Shape> {};

TEST_P(CutNetworks, DeliverEveryPairAndCountEveryLink) {
  const auto [kind, passes] = GetParam();
  const FabricConfig whole = OneWorker(kind, 8, passes);
  const int stages = Network::Make(whole.network)->stages();
  size_t number = 0;
  for (auto& placement : Placements(stages, 8, kWorkersOfTests)) {
    // Every fifth with two workers in turn, so that a worker has rows that are not neighbours.
    if (++number % 5 == 0) {
      for (size_t i = 0; i < placement.size(); ++i) placement[i].lcore = LcoreOf(i % 2);
    }
    ExpectEveryPairDelivered(Cut(kind, 8, std::move(placement), passes));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, CutNetworks, testing::ValuesIn(Shapes()),
                         [](const auto& shape) {
                           return std::string(KindName(shape.param.kind)) +
                                  (shape.param.passes > 1 ? "_twice" : "");
                         });

TEST(Cuts, LinksThatTakeTimeCarryTheSame) {
  for (const int passes : {1, 2}) {
    for (const auto& placement : Placements(3, 8, 3)) {
      if (placement.size() != 3) continue;
      FabricConfig config = Cut(NetworkKind::kWrappedButterfly, 8, placement, passes);
      config.links.base = {.bits_per_second = 1'000'000'000, .delay_ns = 20'000};
      ExpectEveryPairDelivered(config);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane
