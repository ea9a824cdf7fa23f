// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/route_fixture.h"
#include "topologies/edge_colouring.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four packets for one output of a butterfly of 4 rows. Both inputs send one packet in step 1 and
// one in step 2, and the last link takes one packet a step, in steps 2 to 5. So at level 1 the
// packets stand from 1, 1, 2, 2 until 2, 3, 4, 5.
TEST(Route, CountsByHandWhatWaitsBeforeAFullLink) {
  const Network network = Butterfly(4);
  const RouteRequest request{.relation = RelationOf({{0, 0}, {}, {0, 0}, {}})};
  const RouteReport report = *Try("store_and_forward", network, request, {.level = 1});
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.steps, 5u);
  EXPECT_EQ(report.congestion, 4u);
  EXPECT_THAT(report.stage_congestion, ElementsAre(2u, 4u));
  EXPECT_EQ(report.mean_latency, (2 + 3 + 4 + 5) / 4.0);
  EXPECT_EQ(report.max_latency, 5u);
  ASSERT_EQ(report.levels.size(), 2u);
  EXPECT_EQ(report.levels[0].packets, 4u);
  EXPECT_EQ(report.levels[0].waited, 2u);
  EXPECT_EQ(report.levels[0].waited_steps, 2u);
  EXPECT_EQ(report.levels[0].most_steps, 1u);
  EXPECT_EQ(report.levels[1].waited, 3u);
  EXPECT_EQ(report.levels[1].waited_steps, 0u + 1 + 1 + 2);
  EXPECT_EQ(report.levels[1].most_steps, 2u);
  EXPECT_EQ(report.samples, 6u);
  EXPECT_THAT(report.standing, ElementsAre(4, 0, 0,  //
                                           2, 2, 0,  //
                                           0, 3, 1,  //
                                           0, 2, 2,  //
                                           0, 1, 3,  //
                                           0, 0, 4));
  EXPECT_THAT(report.standing_of_level, ElementsAre(0, 0, 0, 0,  //
                                                    2, 0, 0, 0,  //
                                                    3, 0, 0, 0,  //
                                                    2, 0, 0, 0,  //
                                                    1, 0, 0, 0,  //
                                                    0, 0, 0, 0));
}

// The same packets. Greedily they move as before. If the node before the last link holds one packet
// at most, it takes none in a step in which it sends one, so they arrive in steps 2, 4, 6 and 8.
TEST(Route, CountsByHandTheStepsOfGreedyQueues) {
  const Network network = Butterfly(4);
  RouteRequest request{.relation = RelationOf({{0, 0}, {}, {0, 0}, {}})};
  const RouteReport free = *Try("greedy", network, request);
  EXPECT_TRUE(free.finished);
  EXPECT_EQ(free.steps, 5u);
  EXPECT_EQ(free.mean_latency, (2 + 3 + 4 + 5) / 4.0);
  EXPECT_THAT(free.stage_congestion, ElementsAre(2u, 4u));
  EXPECT_EQ(free.levels[1].most_steps, 2u);
  request.queue_limit = 1;
  const RouteReport limited = *Try("greedy", network, request);
  EXPECT_TRUE(limited.finished);
  EXPECT_EQ(limited.steps, 8u);
  EXPECT_EQ(limited.mean_latency, (2 + 4 + 6 + 8) / 4.0);
  EXPECT_EQ(limited.max_latency, 8u);
  EXPECT_THAT(limited.stage_congestion, ElementsAre(2u, 4u));
  EXPECT_EQ(limited.levels[1].waited, 0u);
  EXPECT_EQ(limited.levels[0].waited_steps, 0u + 2 + 4 + 6);
  request.max_steps = 3;
  const RouteReport cut = *Try("greedy", network, request);
  EXPECT_FALSE(cut.finished);
  EXPECT_EQ(cut.delivered, 1u);
}

// Two packets an input, all straight on: a link takes one every other step, the last one in the
// step in which it comes. They arrive in steps 3 and 5.
TEST(Route, CountsByHandTheStepsOfExtraStages) {
  const Network network = Butterfly(4);
  const RouteRequest request{.relation = RelationOf({{0, 0}, {1, 1}, {2, 2}, {3, 3}}),
                             .order = QueueOrder::kFifo};
  const RouteReport report = *Try("extra_stages", network, request);
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.steps, 5u);
  EXPECT_EQ(report.mean_latency, 4);
  EXPECT_THAT(report.stage_congestion, ElementsAre(2u, 2u));
  EXPECT_EQ(report.levels[0].waited, 4u);
  EXPECT_EQ(report.levels[0].waited_steps, 4u * 2);
  EXPECT_EQ(report.levels[1].waited, 0u);
}

// Inputs 0 and 2 send one packet up and one down, so both leave in step 1. Of inputs 1 and 3 both
// packets want the same link, and the second one leaves in step 3.
TEST(Route, TellsTheInputsOfASequenceApart) {
  const Network network = Butterfly(4);
  const RouteRequest request{.relation = RelationOf({{0, 2}, {1, 1}, {2, 0}, {3, 3}}),
                             .order = QueueOrder::kFifo};
  const RouteReport report = *Try("extra_stages", network, request, {.level = 0});
  ASSERT_GE(report.samples, 4u);
  EXPECT_THAT(std::vector<uint32_t>(report.standing_of_level.begin(),
                                    report.standing_of_level.begin() + 16),
              ElementsAre(2, 2, 2, 2,  //
                          0, 1, 0, 1,  //
                          0, 1, 0, 1,  //
                          0, 0, 0, 0));
}

TEST(Route, PacketsOverExtraStagesEndWhereTheyShould) {
  const Network network = Butterfly(16, 3);
  const RouteRequest request{.relation = *RelationByName("random", 16, 5, 9), .seed = 9};
  const RouteReport report = *Try("extra_stages", network, request, {.level = 7});
  EXPECT_EQ(report.delivered, 80u);
  const RouteReport inputs = *Try("extra_stages", network, request, {.level = 0});
  for (Row row = 0; row < 16; ++row) {
    EXPECT_EQ(inputs.standing_of_level[row], 5u);
    // Five packets have left by two links, each every other step.
    EXPECT_EQ(inputs.standing_of_level[10 * 16 + row], 0u);
  }
  ASSERT_EQ(report.standing_of_level.size(), report.samples * 16);
  for (Row row = 0; row < 16; ++row) {  // five permutations
    EXPECT_EQ(report.standing_of_level[(report.samples - 1) * 16 + row], 5u) << row;
  }
}

// Diebold 2008, section 3, as it stands (THEORY.md 5.2), with the packets' places noted after each
// step: all nodes in each step, decided by what stood there before.
struct PlainWaves {
  PlainWaves(const Network& network, const Relation& relation, uint32_t waves) {
    const EdgeColouring colouring = *EdgeColouring::Make(network);
    const int d = network.dimension(), colours = network.ports();
    struct Place {
      Row output = 0, row = 0;
      int level = 0;
      uint64_t came = 0;
    };
    std::vector<std::vector<uint64_t>> carried(static_cast<size_t>(d),
                                               std::vector<uint64_t>(network.link_count()));
    levels.resize(static_cast<size_t>(d));
    for (uint32_t wave = 0; wave < waves; ++wave) {
      std::vector<Place> packets;
      for (Row row = 0; row < network.rows(); ++row) {
        for (uint32_t m = relation.first[row]; m < relation.first[row + 1]; ++m) {
          const Row output = relation.destinations[m];
          if (output % waves == wave) packets.push_back({output, row, 0, steps});
        }
      }
      const uint64_t began = steps;
      size_t left = packets.size();
      for (uint64_t phase = 0; left > 0; ++phase) {
        for (int colour = 0; colour < colours; ++colour, ++steps) {
          const std::vector<Place> before = packets;
          for (Place& packet : packets) {
            const int level = packet.level;
            if (level == d || static_cast<uint64_t>(level % 2) != phase % 2) continue;
            const int port = colouring.port(level, colour, packet.row);
            if (network.direction_of(port) != int(packet.output >> (d - 1 - level) & 1)) continue;
            const Row head = network.next_row(level, packet.row, port);
            bool taken = false;
            for (const Place& other : before) {
              taken |= other.level == level + 1 && other.row == head;
            }
            if (taken && level + 1 < d) continue;
            LevelWaits& waits = levels[static_cast<size_t>(level)];
            const uint64_t wait = steps - packet.came;
            ++waits.packets;
            waits.waited += wait > 0;
            waits.waited_steps += wait;
            waits.most_steps = std::max(waits.most_steps, wait);
            congestion =
                std::max(congestion, ++carried[static_cast<size_t>(level)]
                                              [network.link_index({level, packet.row, port})]);
            packet = {packet.output, head, level + 1, steps + 1};
            if (level + 1 == d) {
              --left;
              latency += steps + 1 - began;
            }
          }
        }
      }
    }
  }
  uint64_t steps = 0, congestion = 0, latency = 0;
  std::vector<LevelWaits> levels;
};

TEST(Route, WavesWaitWhereThePlainAlgorithmSays) {
  int waited_somewhere = 0;
  for (const int d : {1, 2, 4}) {
    for (const uint32_t waves : {1u, 3u}) {
      const Network network = Multibutterfly(32, d);
      const RouteRequest request{.relation = *RelationByName("random", 32, 1, waves),
                                 .waves = waves};
      const PlainWaves plain(network, request.relation, waves);
      const RouteReport report = *Try("waves", network, request, {.max_samples = 10000});
      SCOPED_TRACE(absl::StrCat("d ", d, " waves ", waves));
      EXPECT_EQ(report.delivered, 32u);
      EXPECT_EQ(report.steps, plain.steps);
      ASSERT_EQ(report.waves.size(), waves);
      ASSERT_EQ(report.steps_a_sample, 1u);
      uint64_t steps = 0, delivered = 0;
      for (const WaveSummary& wave : report.waves) {
        steps += wave.steps;
        delivered += wave.packets;
        // Of outputs 0..31, 11 or 10 are `wave` modulo 3.
        EXPECT_EQ(wave.packets, (32 + waves - 1 - wave.wave) / waves);
        EXPECT_EQ(report.standing[steps * 6 + 5], delivered);
      }
      EXPECT_EQ(report.congestion, plain.congestion);
      EXPECT_DOUBLE_EQ(report.mean_latency, static_cast<double>(plain.latency) / 32);
      ASSERT_EQ(report.levels.size(), plain.levels.size());
      for (size_t level = 0; level < plain.levels.size(); ++level) {
        EXPECT_EQ(report.levels[level].packets, 32u);
        EXPECT_EQ(report.levels[level].waited, plain.levels[level].waited) << level;
        EXPECT_EQ(report.levels[level].waited_steps, plain.levels[level].waited_steps) << level;
        EXPECT_EQ(report.levels[level].most_steps, plain.levels[level].most_steps) << level;
        waited_somewhere += plain.levels[level].waited > 0;
      }
    }
  }
  EXPECT_GT(waited_somewhere, 0);
}

TEST(Route, AnHRelationArrivesAndIsCountedAsItsOwnReportCounts) {
  const Network network = Multibutterfly(64, 8);
  const RouteRequest request{.relation = *RelationByName("random", 64, 4, 1),
                             .h_relation = {.neighbours = 4, .share = 16}};
  const RouteReport report = *Try("h_relation", network, request);
  HRelationConfig config = request.h_relation;
  config.h = 4;
  Crew crew(1);
  const HRelationResult result = *RunHRelation(network, request.relation, config, crew);
  ASSERT_TRUE(result.finished) << result.trouble;
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.delivered, 256u);
  EXPECT_EQ(report.steps, result.steps);
  EXPECT_EQ(report.phases, result.stages);
  // Waves follow each other, so a link may carry more in all than in one of them.
  EXPECT_GE(report.congestion, result.link_congestion);
  for (const LevelWaits& level : report.levels) EXPECT_EQ(level.packets, 256u);
}

TEST(Route, AnHRelationThatIsStuckEndsWithAReport) {
  // THEORY.md 3.7: d = R = 8 never works if all h messages of an input go to one output.
  const Network network = Multibutterfly(256, 8);
  const RouteRequest request{.relation = *RelationByName("identity", 256, 16, 1),
                             .h_relation = {.neighbours = 8, .share = 4}};
  const RouteReport report = *Try("h_relation", network, request);
  EXPECT_FALSE(report.finished);
  EXPECT_THAT(report.trouble, HasSubstr("stage"));
  EXPECT_LT(report.delivered, 256u * 16);
}

TEST(Route, DoesNotDependOnTheWorkers) {
  const Network network = Multibutterfly(64, 2);
  for (const char* program : {"waves", "store_and_forward"}) {
    const RouteRequest request{.relation = *RelationByName("random", 64, 1, 5)};
    const RouteReport one = *Try(program, network, request);
    const RouteReport three = *Try(program, network, request, {.workers = 3});
    EXPECT_EQ(one.steps, three.steps);
    EXPECT_EQ(one.standing, three.standing) << program;
    EXPECT_EQ(one.mean_latency, three.mean_latency);
    EXPECT_EQ(one.congestion, three.congestion);
  }
}

TEST(Route, LeavesOutWhatFaultsCutOffAndSaysWhich) {
  const Network network = Multibutterfly(16, 2);
  FaultSet faults(network);
  faults.SetNodeUp({0, 3}, false);
  faults.SetNodeUp({4, 9}, false);
  const RouteRequest request{.relation = *RelationByName("identity", 16, 1, 1)};
  for (const char* program : {"waves", "store_and_forward"}) {
    const RouteReport report = *RunRoute(program, network, faults, request, {});
    EXPECT_TRUE(report.finished) << program;
    EXPECT_EQ(report.trouble, "") << "packets that cannot leave were sent";
    EXPECT_EQ(report.left_out, 2u);
    EXPECT_EQ(report.delivered, 14u);
    EXPECT_THAT(report.faulty_inputs, ElementsAre(3u));
    EXPECT_THAT(report.faulty_outputs, ElementsAre(9u));
  }
}

TEST(Route, GoesAroundFaultsAmongTheSwitches) {
  const Network network = Multibutterfly(64, 4);
  FaultSet faults(network);
  for (const Row row : {1u, 17u, 33u, 50u}) faults.SetNodeUp({2, row}, false);
  const RouteRequest request{.relation = *RelationByName("random", 64, 1, 1)};
  for (const char* program : {"waves", "store_and_forward"}) {
    const RouteReport report = *RunRoute(program, network, faults, request, {.level = 2});
    EXPECT_TRUE(report.finished) << program << report.trouble;
    EXPECT_GT(report.delivered, 32u);
    for (uint64_t sample = 0; sample < report.samples; ++sample) {
      for (const Row row : {1u, 17u, 33u, 50u}) {
        EXPECT_EQ(report.standing_of_level[sample * 64 + row], 0u);
      }
    }
  }
}

// Node 5 of level 1 cannot send upwards. A packet that came there might stand there for ever.
TEST(Route, SendsNothingToASwitchThatCountsAsFaulty) {
  const Network network = Multibutterfly(64, 2);
  FaultSet faults(network);
  for (const int port : {0, 1}) faults.SetLinkUp({1, 5, port}, false);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const RouteRequest request{.relation = *RelationByName("random", 64, 1, seed)};
    for (const char* program : {"waves", "store_and_forward"}) {
      const RouteReport report = *RunRoute(program, network, faults, request, {.level = 1});
      EXPECT_TRUE(report.finished) << program << report.trouble;
      EXPECT_EQ(report.faulty_switches, 1u);
      EXPECT_EQ(report.delivered, 64u);
      for (uint64_t sample = 0; sample < report.samples; ++sample) {
        EXPECT_EQ(report.standing_of_level[sample * 64 + 5], 0u);
      }
    }
  }
}

TEST(Route, EndsAtTheLimitOfSteps) {
  const Network network = Multibutterfly(64, 2);
  for (const char* program : {"waves", "store_and_forward"}) {
    const RouteRequest request{.relation = *RelationByName("random", 64, 1, 5), .max_steps = 3};
    const RouteReport report = *Try(program, network, request);
    EXPECT_FALSE(report.finished);
    EXPECT_EQ(report.steps, 3u) << program;
    EXPECT_EQ(report.trouble, "the limit of 3 steps is reached");
    EXPECT_EQ(report.delivered, 0u);  // the shortest path has six links
    uint64_t standing = 0;
    for (size_t level = 0; level <= 6; ++level) {
      standing += report.standing[(report.samples - 1) * 7 + level];
    }
    EXPECT_EQ(standing, 64u) << program;
  }
}

// A wave of one packet takes two phases of two steps, so four of them take 16. In one of the two
// relations the last link is of the first colour of its phase, and a packet arrives in step 3.
TEST(Route, WavesTakeNoStepMoreThanTheLimit) {
  const Network network = Butterfly(4);
  int early = 0, left_out = 0;
  for (const std::vector<std::vector<Row>>& outputs :
       {std::vector<std::vector<Row>>{{0}, {1}, {2}, {3}}, {{1}, {0}, {3}, {2}}}) {
    RouteRequest request{.relation = RelationOf(outputs), .waves = 4};
    for (request.max_steps = 1; request.max_steps <= 20; ++request.max_steps) {
      const RouteReport report = *Try("waves", network, request);
      EXPECT_EQ(report.steps, std::min<uint64_t>(request.max_steps, 16));
      early += request.max_steps == 3 && report.delivered == 1;
      if (request.max_steps < 15) {
        EXPECT_FALSE(report.finished) << request.max_steps;
      }
      if (request.max_steps >= 16) {
        EXPECT_TRUE(report.finished) << request.max_steps;
        // Each wave ends with the step in which its only packet arrives.
        EXPECT_EQ(static_cast<double>(report.steps_taken()), 4 * report.mean_latency);
        left_out += report.steps_not_taken > 0;
      }
    }
  }
  EXPECT_EQ(early, 1);
  EXPECT_GT(left_out, 0);
}

TEST(Route, KeepsAtMostSoManySamples) {
  const Network network = Multibutterfly(64, 2);
  const RouteRequest request{.relation = *RelationByName("random", 64, 1, 5)};
  const RouteReport report = *Try("waves", network, request, {.max_samples = 5});
  EXPECT_LE(report.samples, 5u);
  EXPECT_GE(report.samples * report.steps_a_sample, report.steps);
  EXPECT_EQ(report.standing.back(), 64u);
  const RouteReport every = *Try("waves", network, request, {.max_samples = 10000});
  ASSERT_EQ(every.steps_a_sample, 1u);
  for (uint64_t sample = 0; sample + 1 < report.samples; ++sample) {
    for (uint64_t level = 0; level <= 6; ++level) {
      EXPECT_EQ(report.standing[sample * 7 + level],
                every.standing[sample * report.steps_a_sample * 7 + level]);
    }
  }
}

}  // namespace
}  // namespace bfly::dataplane
