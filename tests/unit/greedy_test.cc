// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/greedy.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "dataplane/steps/greedy_rule.h"
#include "gtest/gtest.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

Network RandomNetwork(uint32_t rows, int c) {
  return *Network::Make(
      {.kind = NetworkKind::kMultibutterfly, .rows = rows, .seed = 9, .multiplicity = c});
}

std::vector<Row> RandomDestinations(uint32_t rows, uint32_t each, uint64_t seed) {
  std::vector<Row> destinations(static_cast<size_t>(rows) * each);
  for (size_t i = 0; i < destinations.size(); ++i) {
    destinations[i] = RandomBelow(seed, RandomStream::kTest, i, rows);
  }
  return destinations;
}

// greedy.h in plain words, with a queue of destinations for each node and direction.
GreedyResult PlainGreedy(const Network& network, const GreedyConfig& config) {
  using Queue = std::deque<Row>;
  const int d = network.dimension(), c = network.multiplicity();
  const size_t each = config.destinations.size() / network.rows();
  // By level, row and direction.
  std::vector<std::vector<std::vector<Queue>>> queues(
      static_cast<size_t>(d), std::vector<std::vector<Queue>>(network.rows(), {{}, {}}));
  const auto direction_at = [&](size_t level, Row to) {
    return to >> (d - 1 - static_cast<int>(level)) & 1;
  };
  for (size_t i = 0; i < config.destinations.size(); ++i) {
    const Row to = config.destinations[i];
    queues[0][i / each][direction_at(0, to)].push_back(to);
  }
  GreedyResult result{.packets = config.destinations.size()};
  double latencies = 0;
  for (; result.delivered < result.packets; ++result.steps) {
    struct Offer {
      size_t level;
      Row head, to;
    };
    std::vector<std::vector<size_t>> held;
    for (const auto& level : queues) {
      held.emplace_back();
      for (const auto& node : level) held.back().push_back(node[0].size() + node[1].size());
    }
    // All nodes decide by what stood there before the step, so packets come in behind those.
    auto after = queues;
    std::vector<Offer> taken;
    for (size_t level = 0; level < queues.size(); ++level) {
      for (Row row = 0; row < network.rows(); ++row) {
        for (size_t direction : {0, 1}) {
          Queue& stay = after[level][row][direction];
          const Queue& queue = queues[level][row][direction];
          stay = {};
          for (size_t k = 0; k < queue.size(); ++k) {
            const int port = static_cast<int>(direction) * c +
                             static_cast<int>((result.steps + k) % static_cast<uint64_t>(c));
            const Row head = network.next_row(static_cast<int>(level), row, port);
            const bool output = level + 1 == queues.size();
            if (k >= static_cast<size_t>(c) ||
                (!output && config.queue > 0 && held[level + 1][head] >= config.queue)) {
              stay.push_back(queue[k]);
              continue;
            }
            ++result.moves;
            if (output) {
              ++result.delivered;
              latencies += static_cast<double>(result.steps) + 1;
              EXPECT_EQ(head, queue[k]);
            } else {
              ++held[level + 1][head];
              taken.push_back({level + 1, head, queue[k]});
            }
          }
        }
      }
    }
    for (const Offer& offer : taken) {
      after[offer.level][offer.head][direction_at(offer.level, offer.to)].push_back(offer.to);
    }
    queues = std::move(after);
    for (size_t level = 1; level < queues.size(); ++level) {
      for (const auto& node : queues[level]) {
        result.longest_queue =
            std::max(result.longest_queue, static_cast<uint32_t>(node[0].size() + node[1].size()));
      }
    }
  }
  result.mean_latency = latencies / static_cast<double>(result.packets);
  return result;
}

TEST(Greedy, EqualsPlainQueues) {
  for (const int c : {1, 2, 3}) {
    const Network network = RandomNetwork(64, c);
    for (const uint32_t each : {1, 8}) {
      for (const uint32_t queue : {0, 1, 2, 7}) {
        const GreedyConfig config{.destinations = RandomDestinations(64, each, 3), .queue = queue};
        const GreedyResult plain = PlainGreedy(network, config);
        for (const int workers : {1, 2, 3}) {
          Crew crew(workers);
          const absl::StatusOr<GreedyResult> result = RunGreedy(network, config, crew);
          ASSERT_TRUE(result.ok()) << result.status();
          const std::string what = absl::StrCat("c ", c, ", ", each, " packets an input, queue ",
                                                queue, ", ", workers, " workers");
          EXPECT_EQ(result->steps, plain.steps) << what;
          EXPECT_EQ(result->moves, plain.moves) << what;
          EXPECT_EQ(result->delivered, 64u * each) << what;
          EXPECT_EQ(result->mean_latency, plain.mean_latency) << what;
          EXPECT_EQ(result->longest_queue, plain.longest_queue) << what;
          EXPECT_EQ(result->end, StepEnd::kDone);
          if (queue > 0) {
            EXPECT_LE(result->longest_queue, queue);
          }
        }
      }
    }
  }
}

// The nodes of several blocks hand packets of one array over to each other.
template <bool kLimited>
void IsTheSameInBlocks() {
  const Network network = RandomNetwork(128, 2);
  const std::vector<Row> destinations = RandomDestinations(128, 6, 4);
  std::vector<uint64_t> latency_sums;
  for (const uint32_t blocks : {1, 3}) {
    std::vector<GreedyPacket> packets;
    for (const Row to : destinations) packets.push_back({.destination = to});
    const GreedyRule<kLimited> rule(network, packets, 3);
    Crew crew(2);
    StepClock<GreedyRule<kLimited>> clock(network, rule, crew, blocks);
    for (uint32_t i = 0; i < packets.size(); ++i) {
      rule.Hold(clock.node(0, i / 6), i);
      clock.Wake(0, i / 6);
    }
    EXPECT_EQ(clock.Run({.steps = 10000}), StepEnd::kDone);
    EXPECT_EQ(clock.tally().delivered, packets.size());
    latency_sums.push_back(clock.tally().latency_sum);
  }
  EXPECT_EQ(latency_sums[0], latency_sums[1]);
}

TEST(Greedy, IsTheSameInBlocksWithLimit) { IsTheSameInBlocks<true>(); }
TEST(Greedy, IsTheSameInBlocksWithoutLimit) { IsTheSameInBlocks<false>(); }

// One packet crosses a link a step. Two packets of one input for one output of a butterfly follow
// each other.
TEST(Greedy, TakesTheStepsCountedByHand) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  Crew crew(1);
  std::vector<Row> to(8);
  for (Row row = 0; row < 8; ++row) to[row] = row;
  EXPECT_EQ(RunGreedy(network, {.destinations = to}, crew)->steps, 3u);
  // A node that holds a packet refuses another one, although the first one leaves. With identity
  // nobody refuses.
  EXPECT_EQ(RunGreedy(network, {.destinations = to, .queue = 1}, crew)->steps, 3u);
  for (Row row = 0; row < 8; ++row) to[row] = 0;
  // Into output 0 lead two links, and both are in use from step 2 until all 8 packets are there.
  EXPECT_EQ(RunGreedy(network, {.destinations = to}, crew)->steps, 2u + 4);
}

TEST(Greedy, StopsAtTheStepLimit) {
  for (const int workers : {1, 2}) {
    Crew crew(workers);
    const GreedyConfig config{.destinations = RandomDestinations(64, 4, 1), .step_limit = 7};
    const absl::StatusOr<GreedyResult> result = RunGreedy(RandomNetwork(64, 2), config, crew);
    EXPECT_EQ(result->end, StepEnd::kLimit);
    EXPECT_EQ(result->steps, 7u);
    EXPECT_LT(result->delivered, result->packets);
  }
}

TEST(Greedy, RefusesWhatItIsNotDefinedFor) {
  Crew crew(1);
  const Network network = RandomNetwork(8, 2);
  const auto message = [&](const Network& on, const GreedyConfig& config) {
    return std::string(RunGreedy(on, config, crew).status().message());
  };
  EXPECT_EQ(message(network, {.destinations = {1, 2, 3}}),
            "destinations: 3 is not a multiple of the 8 rows from 8 to 268435456");
  EXPECT_EQ(message(network, {}),
            "destinations: 0 is not a multiple of the 8 rows from 8 to 268435456");
  std::vector<Row> to(16, 0);
  to[5] = 8;
  EXPECT_EQ(message(network, {.destinations = to}),
            "destinations: packet 1 of input 2 goes to row 8, outside 0..7");
  EXPECT_NE(message(*Network::Make({.kind = NetworkKind::kBenes, .rows = 8}),
                    {.destinations = std::vector<Row>(8)})
                .find("benes with 6 hops for 3 positions"),
            std::string::npos);
}

}  // namespace
}  // namespace bfly::dataplane
