// SPDX-License-Identifier: Apache-2.0
// Every way to cut a small network into runs of stages and blocks of rows: packets go where they
// went, and every link counts what it counted.
#include "dataplane/stages/plan.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr int kMostWorkers = 4;

int LcoreOf(int worker) { return Lcores()[static_cast<size_t>(worker)].number; }

// The ways to write 0..count-1 as consecutive ranges, at most `most` of them: of each the first
// numbers.
std::vector<std::vector<int>> Cuts(int count, int most) {
  std::vector<std::vector<int>> cuts;
  for (unsigned set = 0; set < 1u << (count - 1); ++set) {
    std::vector<int> starts = {0};
    for (int i = 1; i < count; ++i) {
      if (set >> (i - 1) & 1) starts.push_back(i);
    }
    if (static_cast<int>(starts.size()) <= most) cuts.push_back(std::move(starts));
  }
  return cuts;
}

// Every way to cut stages into runs and the rows of each run into blocks, a worker a block.
std::vector<std::vector<StagePlacement>> Placements(int stages, int rows, int workers) {
  std::vector<std::vector<StagePlacement>> all;
  for (const std::vector<int>& runs : Cuts(stages, workers)) {
    std::vector<std::vector<StagePlacement>> begun = {{}};
    for (size_t run = 0; run < runs.size(); ++run) {
      const int last = run + 1 < runs.size() ? runs[run + 1] - 1 : stages - 1;
      const int needed_later = static_cast<int>(runs.size() - run) - 1;
      std::vector<std::vector<StagePlacement>> longer;
      for (const auto& placement : begun) {
        const int used = static_cast<int>(placement.size());
        for (const std::vector<int>& blocks : Cuts(rows, workers - used - needed_later)) {
          longer.push_back(placement);
          for (size_t b = 0; b < blocks.size(); ++b) {
            const int last_row = b + 1 < blocks.size() ? blocks[b + 1] - 1 : rows - 1;
            longer.back().push_back(
                {.first_stage = runs[run],
                 .last_stage = last,
                 .lcore = LcoreOf(used + static_cast<int>(b)),
                 .rows = {static_cast<Row>(blocks[b]), static_cast<Row>(last_row)}});
          }
        }
      }
      begun = std::move(longer);
    }
    all.insert(all.end(), begun.begin(), begun.end());
  }
  return all;
}

FabricConfig Cut(NetworkKind kind, uint32_t rows, std::vector<StagePlacement> placement,
                 int passes = 1) {
  FabricConfig config = OneWorker(kind, rows, passes);
  config.placement = std::move(placement);
  return config;
}

std::string Describe(const FabricConfig& config) {
  std::string text;
  for (const StagePlacement& p : config.placement) {
    text += "stages " + std::to_string(p.first_stage) + "-" + std::to_string(p.last_stage) +
            " rows " + std::to_string(p.rows.first) + "-" + std::to_string(p.rows.last) +
            " lcore " + std::to_string(p.lcore) + "; ";
  }
  return text;
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
    for (auto& placement : Placements(stages, 8, kMostWorkers)) {
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
  for (auto& placement : Placements(stages, 8, kMostWorkers)) {
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
