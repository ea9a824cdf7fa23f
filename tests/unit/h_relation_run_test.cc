// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dataplane/steps/h_relation.h"
#include "dataplane/steps/h_relation_bounds.h"
#include "topologies/crew.h"
#include "topologies/relation.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;

Network Splitters(uint32_t rows, int d, uint64_t seed,
                  NetworkKind kind = NetworkKind::kMultibutterfly) {
  NetworkSpec spec;
  spec.kind = kind;
  spec.rows = rows;
  spec.multiplicity = d;
  spec.seed = seed;
  return *Network::Make(spec);
}

TEST(HRelationBounds, AreThoseCountedByHand) {
  EXPECT_EQ(Pow2Gt(0), 1u);
  EXPECT_EQ(Pow2Gt(1), 2u);
  EXPECT_EQ(Pow2Gt(3), 4u);
  EXPECT_EQ(Pow2Gt(4), 8u);
  EXPECT_EQ(PaperHBar(40, 16, 8), 1024u);  // above 640
  EXPECT_EQ(PaperHBar(40, 1, 8), 512u);    // h < R: above 4 * 40 * 8 / 4 = 320
  EXPECT_EQ(PaperHBar(4, 16, 8), 128u);    // 64 itself is not greater than 64
  // d = 4, h = 4, R = 4: 8 links of one buffer make 8, W = 16; then also batches of 8 / 4 and
  // 16 / 4 make 14, W = 16 again.
  EXPECT_THAT(WeightBounds(4, 4, 4, {4, 4, 4}), testing::ElementsAre(8, 16, 16, 16));
  // d = 2, h = 4, R = 2: 4 links of 2 buffers and 8 / 2: 12; then 8 / 2 + 16 / 2 more than 8: 20;
  // then 8 + 4 + 8 + 16 = 36.
  EXPECT_THAT(WeightBounds(2, 4, 2, {2, 2, 2}), testing::ElementsAre(8, 16, 32, 64));
}

// Lemma 3, by its own arithmetic.
TEST(HRelationBounds, OfEveryLevelAreAtMostThePapers) {
  for (const int d : {8, 16, 40}) {
    for (const int r : {8, 16}) {
      for (uint32_t h = 1; h <= 100 && d >= r; ++h) {
        for (const uint64_t bound : WeightBounds(d, h, r, std::vector<int>(20, r))) {
          ASSERT_LE(bound, PaperHBar(d, h, r)) << d << " " << r << " " << h;
        }
      }
    }
  }
}

TEST(HRelationBounds, ChargesAreThoseCountedByHand) {
  const HRelationCharge charge{12, 512, 10, 4, 3, 33};
  EXPECT_EQ(charge.BitsOfStage(), 4u * (9 + 2) + 9 + 3 * 2 * 10);  // 113
  EXPECT_EQ(charge.BitTime(12), 12u * 113 + 17 * 20);  // ceil(33 / 2) times two bits of 10
  EXPECT_EQ(charge.WordTime(12), 12u * 10 + 10 * 3);   // ceil(113 / 12), ceil(33 / 12)
  // rho = 1/160 of the paper: i = 0 gives 1 + 10 / 7.32, i = 10 gives 11.
  EXPECT_NEAR(StagesOfTheorem2(10, 1.0 / 160), 21, 1e-9);
  // rho = 1/2: i + 1 + (10 - i), for every i.
  EXPECT_NEAR(StagesOfTheorem2(10, 0.5), 21, 1e-9);
  // rho = 0.7071: 1 + 20 at i = 0.
  EXPECT_NEAR(StagesOfTheorem2(10, std::sqrt(0.5)), 31, 1e-9);
}

void ExpectInvariants(const HRelationResult& result, const Network& network) {
  EXPECT_LE(result.largest_weight, result.h_bar);
  EXPECT_LE(result.congestion, 2 * result.h_bar);
  EXPECT_LE(result.largest_buffers, 2 * result.h_bar);
  EXPECT_EQ(result.above_bound, 0u);
  EXPECT_EQ(result.homeless, 0u);
  EXPECT_EQ(result.deficits, 0u);
  EXPECT_EQ(result.ghosts_made,
            result.ghosts_replaced + result.ghosts_deleted + result.ghosts_left);
  EXPECT_LE(result.delivered, result.messages);
  EXPECT_LE(result.bit_time, result.bit_time_bound);
  EXPECT_LE(result.word_time, result.word_time_bound);
  if (!result.finished) return;
  EXPECT_EQ(result.delivered, result.messages);
  EXPECT_GE(result.least_stages_of_a_wave, static_cast<uint64_t>(network.dimension()));
  EXPECT_EQ(result.shortest_path, network.dimension());
  EXPECT_EQ(result.longest_path, network.dimension());
}

// Lemma 3 and the counts of messages and ghosts need no expansion: they hold for wirings that
// drive nodes into waiting, and for those on which the algorithm stops.
TEST(HRelationRun, KeepsItsInvariantsOnAnyWiring) {
  Crew crew(1);
  int finished = 0;
  int stopped = 0;
  uint64_t waited = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const auto& [d, r, l] : {std::tuple{4, 2, 8u},
                                  {8, 4, 16u},
                                  {16, 8, 32u},
                                  {8, 8, 1u},
                                  {2, 2, 2u},
                                  {1, 2, 4u},
                                  {16, 8, 4u}}) {
      for (const char* name : {"identity", "random", "bitrev"}) {
        const Network network = Splitters(128, d, seed);
        HRelationConfig config;
        config.h = 3 + 5 * static_cast<uint32_t>(seed % 3);
        config.neighbours = r;
        config.share = l;
        config.iterations = 1;
        config.rounds = 1 + static_cast<int>(seed % 4);
        const absl::StatusOr<HRelationResult> result =
            RunHRelation(network, *RelationByName(name, 128, config.h, seed), config, crew);
        ASSERT_TRUE(result.ok()) << result.status();
        SCOPED_TRACE(testing::Message() << name << " d " << d << " R " << r << " seed " << seed);
        ExpectInvariants(*result, network);
        EXPECT_EQ(result->finished, result->trouble.empty());
        EXPECT_EQ(result->finished, result->stuck_classes == 0);
        ++(result->finished ? finished : stopped);
        waited += result->blocked;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(finished, 50);
  EXPECT_GT(stopped, 50);
  EXPECT_GT(waited, 50u);
}

TEST(HRelationRun, UsesThePapersHBarWhereEveryNodeHasEnoughNeighbours) {
  Crew crew(1);
  HRelationConfig config;
  config.h = 16;
  config.share = 64;  // splitters of 128 inputs and more
  const HRelationResult result =
      *RunHRelation(Splitters(1024, 16, 1), *RelationByName("identity", 1024, 16, 1), config, crew);
  EXPECT_TRUE(result.finished) << result.trouble;
  EXPECT_TRUE(result.papers_h_bar);
  EXPECT_EQ(result.h_bar, 512u);  // above 4 * 16 * 16 / 4
  EXPECT_EQ(result.waves, 64u);
  EXPECT_EQ(result.largest_weight, 32u);
  EXPECT_GE(result.requests, 1024u * 15);  // parallel edges are one neighbour
}

// Batches of a weight up to R are at most one message, so h < R stands for R.
TEST(HRelationRun, AsksNobodyForBatchesOfOneMessage) {
  Crew crew(1);
  HRelationConfig config;
  config.h = 4;  // the weight of 4 messages is 8 = R
  const Network network = Splitters(128, 16, 1);
  HRelationResult result =
      *RunHRelation(network, *RelationByName("identity", 128, 4, 1), config, crew);
  EXPECT_TRUE(result.finished) << result.trouble;
  EXPECT_EQ(result.largest_weight, 8u);
  EXPECT_EQ(result.requests, 0u);
  EXPECT_EQ(result.h_bar, 256u);  // above 4 * 16 * 8 / 4 = 128
  config.h = 8;
  result = *RunHRelation(network, *RelationByName("identity", 128, 8, 1), config, crew);
  EXPECT_GT(result.requests, 0u);
}

TEST(HRelationRun, SendsOnlyBetweenActiveRowsInOneWave) {
  Crew crew(1);
  HRelationConfig config;
  config.h = 8;
  config.share = 32;
  config.active_rows_only = true;
  const Network network = Splitters(512, 16, 3);
  const HRelationResult result =
      *RunHRelation(network, *RelationByName("random", 512, 8, 3, 32), config, crew);
  EXPECT_TRUE(result.finished) << result.trouble;
  EXPECT_EQ(result.waves, 1u);
  EXPECT_EQ(result.messages, 16u * 8);
  EXPECT_EQ(result.stages, 9u);
  ExpectInvariants(result, network);
  EXPECT_THAT(
      RunHRelation(network, *RelationByName("random", 512, 8, 3), config, crew).status().message(),
      HasSubstr("only rows 0, 32, 64, ... are active"));
}

Relation OneMessage(uint32_t rows, Row from, Row to) {
  Relation relation;
  relation.first.assign(rows + 1, 0);
  std::fill(relation.first.begin() + from + 1, relation.first.end(), 1);
  relation.destinations = {to};
  return relation;
}

// Of 2^13 waves one has a message. If the others cost as much as one, the test takes minutes.
TEST(HRelationRun, WavesWithoutMessagesAreSkipped) {
  Crew crew(1);
  constexpr uint32_t kManyRows = 1 << 13;
  int asked = 0;
  HRelationConfig config;
  config.neighbours = 2;
  config.share = kManyRows;
  config.interrupted = [&asked] {
    ++asked;
    return false;
  };
  const HRelationResult result =
      *RunHRelation(Splitters(kManyRows, 2, 1), OneMessage(kManyRows, 77, 8000), config, crew);
  EXPECT_TRUE(result.finished) << result.trouble;
  EXPECT_EQ(result.waves, 1u);
  EXPECT_EQ(result.stages, 13u);
  EXPECT_EQ(result.congestion_in_all, 1u);
  EXPECT_EQ(asked, 1 + 12) << "before the wave and between its stages";
}

// All splitters serve one output of a wave, and a wave crosses one column: it takes one stage.
TEST(HRelationRun, EndsBetweenTwoWavesIfItIsAskedTo) {
  Crew crew(1);
  int asked = 0;
  HRelationConfig config;
  config.neighbours = 2;
  config.share = 64;
  config.last_level = 1;
  config.interrupted = [&asked] { return ++asked == 5; };
  const auto result =
      RunHRelation(Splitters(64, 4, 1), *RelationByName("identity", 64, 1, 1), config, crew);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 5);
  config.interrupted = [&asked] {
    ++asked;
    return false;
  };
  asked = 0;
  ASSERT_TRUE(
      RunHRelation(Splitters(64, 4, 1), *RelationByName("identity", 64, 1, 1), config, crew).ok());
  EXPECT_EQ(asked, 64);
}

TEST(HRelationRun, IsTheSameForAnyNumberOfWorkers) {
  const Network network = Splitters(128, 8, 5);
  const Relation relation = *RelationByName("bitrev", 128, 9, 5);
  HRelationConfig config;
  config.h = 9;
  config.neighbours = 4;
  config.share = 4;
  config.iterations = 1;
  config.stuck = StuckClass::kForce;
  std::vector<HRelationResult> results;
  for (const int workers : {1, 2, 3}) {
    Crew crew(workers);
    results.push_back(*RunHRelation(network, relation, config, crew));
  }
  EXPECT_GT(results[0].blocked, 0u);
  for (const HRelationResult& other : results) {
    const auto Figures = [](const HRelationResult& r) {
      return std::vector<uint64_t>{r.stages,          r.delivered,        r.congestion,
                                   r.link_congestion, r.largest_weight,   r.largest_buffers,
                                   r.ghosts_made,     r.ghosts_replaced,  r.ghosts_deleted,
                                   r.ghosts_left,     r.requests,         r.blocked,
                                   r.stuck_classes,   r.homeless,         r.deficits,
                                   r.bit_time,        r.congestion_in_all};
    };
    EXPECT_EQ(Figures(other), Figures(results[0]));
    EXPECT_EQ(other.rho, results[0].rho);
  }
}

// d = R = 8: an input would need all its neighbours for itself.
TEST(HRelationRun, StopsInTheStageInWhichAClassIsStuckAndSaysWhere) {
  Crew crew(1);
  const Network network = Splitters(256, 8, 1);
  const Relation relation = *RelationByName("identity", 256, 16, 1);
  HRelationConfig config;
  config.h = 16;
  config.share = 16;
  const HRelationResult result = *RunHRelation(network, relation, config, crew);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.stages, 0u);
  EXPECT_LE(result.steps, 4u);
  ASSERT_FALSE(result.stuck.empty());
  EXPECT_EQ(result.stuck[0].level, 0);
  EXPECT_EQ(result.stuck[0].weight, 32u);
  EXPECT_GT(result.stuck[0].nodes, 1u);
  EXPECT_THAT(result.trouble, HasSubstr("stage 0 of wave 0"));
  EXPECT_THAT(result.trouble, HasSubstr("the neighbour property fails"));
  config.stuck = StuckClass::kForce;
  const HRelationResult forced = *RunHRelation(network, relation, config, crew);
  EXPECT_TRUE(forced.finished) << forced.trouble;
  EXPECT_EQ(forced.delivered, 256u * 16);
  EXPECT_GT(forced.stuck_classes, 0u);
  config.max_stages = 5;
  const HRelationResult limited = *RunHRelation(network, relation, config, crew);
  EXPECT_FALSE(limited.finished);
  EXPECT_EQ(limited.stages, 5u);
  EXPECT_THAT(limited.trouble, HasSubstr("max_stages"));
}

TEST(HRelationRun, RefusesWhatItCannotRun) {
  Crew crew(1);
  const Network network = Splitters(64, 4, 1);
  const Relation relation = *RelationByName("random", 64, 2, 1);
  const auto Error = [&](auto change) {
    HRelationConfig config;
    config.h = 2;
    config.neighbours = 2;
    change(config);
    const absl::StatusOr<HRelationResult> result = RunHRelation(network, relation, config, crew);
    return result.ok() ? std::string("accepted") : std::string(result.status().message());
  };
  EXPECT_EQ(Error([](HRelationConfig&) {}), "accepted");
  EXPECT_THAT(Error([](HRelationConfig& c) { c.h = 1; }),
              HasSubstr("row 0 sends 2 messages, more than h = 1"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.h = 0; }), HasSubstr("h: 0"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.neighbours = 6; }), HasSubstr("neighbours: 6"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.neighbours = -2; }), HasSubstr("2..16"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.share = 128; }), HasSubstr("share: 128"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.iterations = 0; }), HasSubstr("iterations: 0"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.rounds = 65; }), HasSubstr("rounds: 65"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.message_bits = 0; }), HasSubstr("message_bits"));
  EXPECT_THAT(Error([](HRelationConfig& c) { c.max_bytes = 100000; }), HasSubstr("MiB"));
  HRelationConfig config;
  const Network butterfly = Splitters(64, 1, 1, NetworkKind::kButterfly);
  EXPECT_THAT(RunHRelation(butterfly, relation, config, crew).status().message(),
              HasSubstr("not on a butterfly"));
  config.h = 3'000'000;  // 192 million messages
  EXPECT_THAT(CheckHRelation(network, config).message(),
              HasSubstr("2380 MiB, more than the 2048 MiB allowed"));  // 13 bytes each
}

}  // namespace
}  // namespace bfly::dataplane
