// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "dataplane/steps/h_relation_bounds.h"
#include "dataplane/steps/h_relation_rule.h"
#include "dataplane/steps/h_relation_wave.h"
#include "tests/unit/h_relation_reference.h"
#include "topologies/crew.h"
#include "topologies/relation.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;

Network Multibutterfly(uint32_t rows, int d, uint64_t seed,
                       ParallelEdges edges = ParallelEdges::kKeep) {
  NetworkSpec spec;
  spec.kind = NetworkKind::kMultibutterfly;
  spec.rows = rows;
  spec.multiplicity = d;
  spec.seed = seed;
  spec.parallel_edges = edges;
  return *Network::Make(spec);
}

HRelationConfig Config(uint32_t h, int r, uint32_t l, int z, int y,
                       StuckClass stuck = StuckClass::kStop) {
  HRelationConfig config;
  config.h = h;
  config.neighbours = r;
  config.share = l;
  config.iterations = z;
  config.rounds = y;
  config.stuck = stuck;
  return config;
}

HRelationRule RuleOf(const Network& network, const Relation& relation,
                     const HRelationConfig& config) {
  const int greedy_from = network.dimension() - HRelationReference::Log(config.share);
  const uint64_t small = std::max<uint64_t>(config.h, static_cast<uint64_t>(config.neighbours));
  return HRelationRule(network, relation, {0, greedy_from, network.dimension()}, config.neighbours,
                       small);
}

std::vector<uint32_t> Messages(const HRelationRule& rule, const MessageChain& chain) {
  std::vector<uint32_t> messages;
  uint32_t m = chain.first;
  for (uint32_t left = chain.count; left > 0; --left, m = rule.buffers().next(m))
    messages.push_back(m);
  return messages;
}

// The messages of a reference's side that are assigned to `neighbour` (-1: to nobody), by arrival.
std::vector<uint32_t> Messages(const HRelationReference::Side& side, int neighbour) {
  std::map<int, uint32_t> by_stamp;
  for (const HRelationReference::Buffer& b : side.buffers) {
    if (b.state == HRelationReference::kMessage && b.neighbour == neighbour) {
      by_stamp[b.stamp] = b.message;
    }
  }
  std::vector<uint32_t> messages;
  for (const auto& [stamp, message] : by_stamp) messages.push_back(message);
  return messages;
}

void ExpectSameSide(const Network& network, const HRelationRule& rule, int level, Row row,
                    int direction, const HRelationRule::Side& side,
                    const HRelationReference::Side& reference, bool greedy) {
  const HRelationSlot* slots = rule.buffers().slots({0, level, row}, direction);
  for (int s = 0; s < side.slots; ++s) {
    const auto head = static_cast<int>(network.next_row(level, row, slots[s].port));
    EXPECT_EQ(Messages(rule, slots[s].messages), Messages(reference, head));
    uint32_t ghosts = 0;
    for (const HRelationReference::Buffer& b : reference.buffers) {
      ghosts += b.state == HRelationReference::kGhost && b.neighbour == head;
    }
    if (!greedy) {
      EXPECT_EQ(head, reference.selected[static_cast<size_t>(s)]);
      EXPECT_EQ(slots[s].ghosts, ghosts);
    }
  }
  if (greedy) return;
  EXPECT_EQ(side.flag, reference.F);
  if (!side.flag) {
    EXPECT_EQ(Messages(rule, side.unassigned), Messages(reference, -1));
  }
  EXPECT_EQ(side.ghosts, static_cast<uint32_t>(reference.Count(HRelationReference::kGhost)));
}

// Nodes that nothing ever came to need not act: the engine leaves them as they were.
bool Untouched(const HRelationReference::Node& node) {
  return node.side[0].buffers.empty() && node.side[1].buffers.empty();
}

void ExpectSameNodes(const Network& network, const HRelationRule& rule, const HRelationWave& wave,
                     const HRelationReference& reference) {
  for (int level = 0; level <= network.stages(); ++level) {
    for (Row row = 0; row < network.rows(); ++row) {
      SCOPED_TRACE(testing::Message()
                   << "stage " << reference.stage << " level " << level << " row " << row);
      const HRelationRule::Node& node = wave.clock().node(level, row);
      const HRelationReference::Node& other = reference.nodes[static_cast<size_t>(level)][row];
      ASSERT_EQ(node.passed, static_cast<uint32_t>(other.passed));
      const bool greedy = level >= reference.c0;
      if (level == network.stages() || (!greedy && Untouched(other))) continue;
      for (int direction = 0; direction < 2; ++direction) {
        ExpectSameSide(network, rule, level, row, direction,
                       node.sides[static_cast<size_t>(direction)], other.side[direction], greedy);
        if (!greedy && level <= reference.stage) {
          EXPECT_EQ(node.sides[static_cast<size_t>(direction)].weight, other.side[direction].W);
        }
      }
      if (!greedy && level > 0) {
        EXPECT_EQ(node.reserved, other.g1);
        EXPECT_EQ(node.announced, other.g2);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Where ghosts appear: g' + g'' of them stand in the upper and in the lower buffers of every node
// (section 3, end).
void ExpectGhostsInBothSides(const Network& network, const HRelationWave& wave, int greedy_from) {
  for (int level = 1; level < greedy_from; ++level) {
    for (Row row = 0; row < network.rows(); ++row) {
      const HRelationRule::Node& node = wave.clock().node(level, row);
      for (const HRelationRule::Side& side : node.sides) {
        ASSERT_EQ(side.ghosts, node.reserved + node.announced) << level << " " << row;
      }
    }
  }
}

// An output ever accepts at most one batch of each W > h.
void ExpectOneBatchOfAWeight(const Network& network, const HRelationRule& rule,
                             const HRelationWave& wave, int* batches) {
  std::map<std::tuple<int, Row, uint32_t>, int> accepted;
  for (int level = 0; level < rule.levels().greedy_from; ++level) {
    for (Row row = 0; row < network.rows(); ++row) {
      for (int direction = 0; direction < 2; ++direction) {
        const HRelationRule::Side& side =
            wave.clock().node(level, row).sides[static_cast<size_t>(direction)];
        if (!side.flag || side.weight <= rule.small_weight()) continue;
        for (int s = 0; s < side.slots; ++s) {
          const Row head = network.next_row(
              level, row, rule.buffers().slots({0, level, row}, direction)[s].port);
          ASSERT_EQ((++accepted[{level, head, side.weight}]), 1);
          ++*batches;
        }
      }
    }
  }
}

// Classes that are stuck are forced, so that every run comes to its end.
HRelationConfig Forced(uint32_t h, int r, uint32_t l, int z, int y) {
  HRelationConfig config = Config(h, r, l, z, y);
  config.stuck = StuckClass::kForce;
  return config;
}

// What a set of cases has of that which makes the algorithm hard.
struct Hardness {
  uint64_t ghosts_after_a_stage = 0;  // in waves without a forced class
  uint64_t waiting = 0;
  int batches = 0;
  int forced = 0;
  uint64_t deficits = 0;
};

// Lemma 2's rho: how fast the nodes with F = 0 get fewer, for every splitter, side and W.
struct Lemma2 {
  using Counts = std::map<std::tuple<int, uint32_t, int, uint64_t>, int>;
  Counts first;
  double rho = 0;

  static Counts Count(const HRelationReference& reference, int column) {
    Counts counts;
    const std::vector<HRelationReference::Node>& nodes =
        reference.nodes[static_cast<size_t>(column)];
    for (uint32_t r = 0; r < reference.N; ++r) {
      for (int side = 0; side < 2; ++side) {
        if (nodes[r].side[side].F) continue;
        ++counts[{column, r / (reference.N >> column), side, nodes[r].side[side].W}];
      }
    }
    return counts;
  }
  // A column's counts begin with the stage of its number.
  void Begin(const HRelationReference& reference) {
    if (reference.stage < reference.c0) first.merge(Count(reference, reference.stage));
  }
  void EndStage(const HRelationReference& reference) {
    for (int column = 0; column < std::min(reference.stage, reference.c0); ++column) {
      for (const auto& [key, count] : Count(reference, column)) {
        const double share = static_cast<double>(count) / first.at(key);
        rho = std::max(rho, std::pow(share, 1.0 / (reference.stage - column)));
      }
    }
    Begin(reference);
  }
};

void ExpectAgreement(const Network& network, const Relation& relation,
                     const HRelationConfig& config, uint32_t w, Hardness& hardness) {
  Crew crew(1);
  HRelationRule rule = RuleOf(network, relation, config);
  StepClock<HRelationRule> clock(network, rule, crew);
  const MessageChain messages = MessagesOfWaves(relation, rule, config.share)[w];
  HRelationWave wave(network, relation, rule, config, w, messages, clock, crew);
  HRelationReference reference(network, relation, config.h, config.neighbours, config.share,
                               config.iterations, config.rounds, true, w, config.share);
  Lemma2 lemma;
  lemma.Begin(reference);
  for (bool more = true; more;) {
    more = wave.Stage();
    reference.Stage();
    lemma.EndStage(reference);
    ASSERT_EQ(more, !reference.Done());
    ASSERT_LT(wave.stages(), 200u);
    ExpectSameNodes(network, rule, wave, reference);
    if (testing::Test::HasFailure()) return;
    if (!wave.stuck().empty()) continue;
    ExpectGhostsInBothSides(network, wave, rule.levels().greedy_from);
    const HRelationRule::Tally tally = wave.tally();
    hardness.ghosts_after_a_stage +=
        tally.ghosts_made - tally.ghosts_replaced - tally.ghosts_deleted;
  }
  EXPECT_EQ(wave.trouble(), "");
  EXPECT_EQ(wave.stages(), static_cast<uint64_t>(reference.stage));
  EXPECT_EQ(wave.stuck().size(), static_cast<size_t>(reference.stuck));
  EXPECT_EQ(reference.delivered.size(), wave.messages());
  for (const auto& [message, row] : reference.delivered) {
    EXPECT_EQ(row, relation.destinations[message]);
    EXPECT_EQ(rule.buffers().arrived_at(message), row);
  }
  EXPECT_DOUBLE_EQ(wave.rho(), lemma.rho);
  hardness.waiting += wave.blocked();
  hardness.forced += reference.stuck;
  hardness.deficits += wave.tally().deficits;
  if (wave.stuck().empty()) ExpectOneBatchOfAWeight(network, rule, wave, &hardness.batches);
}

TEST(HRelation, AgreesWithThePlainAlgorithmStageByStage) {
  const struct {
    uint32_t rows;
    int d;
    const char* relation;
    HRelationConfig config;
  } cases[] = {
      {64, 4, "random", Forced(4, 4, 4, 2, 3)},       {64, 2, "identity", Forced(5, 2, 8, 1, 3)},
      {64, 8, "identity", Forced(9, 2, 4, 1, 1)},     {64, 8, "bitrev", Forced(8, 4, 8, 1, 2)},
      {128, 16, "identity", Forced(16, 8, 16, 1, 3)}, {128, 8, "bitrev", Forced(8, 2, 4, 1, 4)},
      {128, 6, "random", Forced(20, 2, 1, 1, 3)},     {64, 4, "transpose", Forced(3, 8, 1, 4, 3)},
      {64, 4, "random", Forced(4, 4, 64, 4, 3)},      {128, 8, "random", Forced(12, 4, 1, 1, 1)},
      {128, 8, "identity", Forced(12, 4, 8, 2, 2)},   {16, 2, "random", Forced(1, 8, 1, 1, 1)},
  };
  Hardness hardness;
  for (const auto& c : cases) {
    for (const uint64_t seed : {1, 2, 3}) {
      const Network network = Multibutterfly(c.rows, c.d, seed);
      const Relation relation = *RelationByName(c.relation, c.rows, c.config.h, seed);
      for (const uint32_t w : {0u, c.config.share - 1}) {
        SCOPED_TRACE(testing::Message()
                     << c.rows << " rows, d " << c.d << ", " << c.relation << ", R "
                     << c.config.neighbours << ", seed " << seed << ", wave " << w);
        ExpectAgreement(network, relation, c.config, w, hardness);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(hardness.ghosts_after_a_stage, 0u);
  EXPECT_GT(hardness.waiting, 0u);
  EXPECT_GT(hardness.batches, 0);
  EXPECT_GT(hardness.forced, 0);
  EXPECT_GT(hardness.deficits, 0u);
}

}  // namespace
}  // namespace bfly::dataplane
