// SPDX-License-Identifier: Apache-2.0
// Butterflies with extra stages (THEORY.md section 4) against closed forms, hand counts and the
// node model written down word by word.
#include "dataplane/steps/extra_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;

Network Butterfly(int n, int r) {
  return *Network::Make(
      {.kind = NetworkKind::kButterfly, .rows = uint32_t{1} << n, .extra_stages = r});
}

ExtraStagesResult RunOn(const Network& network, const ExtraStagesConfig& config,
                        std::vector<uint32_t>* crossings = nullptr) {
  const absl::StatusOr<ExtraStagesResult> result = RunExtraStages(network, config, crossings);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

// The reference model H, step by step: buffers and queues by name, every decision on a copy of the
// state at the start of the step.
class PlainModel {
 public:
  PlainModel(const Network& network, QueueOrder order, std::vector<ExtraPacket> packets)
      : network_(network), order_(order), packets_(std::move(packets)) {
    for (size_t i = 0; i < packets_.size(); ++i) {
      const Row input = packets_[i].number % network.rows();
      Queue(0, input, Direction(i, 0)).push_back(i);
    }
  }

  // crossings[hop * packets + number], as RunExtraStages has it.
  std::vector<uint32_t> Run() {
    crossings_.assign(packets_.size() * static_cast<size_t>(network_.hops()), 0);
    for (uint32_t step = 1; delivered_ < packets_.size(); ++step) {
      Step(step);
      if (step > 1'000'000) {
        ADD_FAILURE() << "the plain model does not end";
        break;
      }
    }
    return crossings_;
  }

 private:
  using Place = std::tuple<int, Row, int>;  // level, row, and direction or incoming link

  int Direction(size_t packet, int hop) const { return packets_[packet].path >> hop & 1; }
  std::deque<size_t>& Queue(int level, Row row, int direction) {
    return queues_[{level, row, direction}];
  }
  // The packet of the queue that goes next.
  size_t Next(const std::deque<size_t>& queue) const {
    if (order_ == QueueOrder::kFifo) return 0;
    size_t best = 0;
    for (size_t i = 1; i < queue.size(); ++i) {
      if (packets_[queue[i]].priority < packets_[queue[best]].priority) best = i;
    }
    return best;
  }

  void Step(uint32_t step) {
    const std::map<Place, std::deque<size_t>> queues = queues_;
    const std::map<Place, size_t> buffers = buffers_;
    std::map<Place, uint32_t> used;
    for (const auto& [place, queue] : queues) {
      if (queue.empty()) continue;
      const auto [level, row, direction] = place;
      const Row head = network_.next_row(level, row, direction);
      // The buffers of a node are told apart by whether the link kept the row.
      const Place buffer{level + 1, head, head == row};
      const bool is_output = level + 1 == network_.hops();
      if (!is_output && buffers.count(buffer) != 0) continue;
      const size_t next = Next(queue);
      const size_t packet = queue[next];
      crossings_[static_cast<size_t>(level) * packets_.size() + packets_[packet].number] = step;
      queues_[place].erase(queues_[place].begin() + static_cast<std::ptrdiff_t>(next));
      if (is_output) {
        ++delivered_;
      } else {
        buffers_[buffer] = packet;
      }
    }
    // Two packets for the same queue: the one that came from the lower row stands before the other.
    for (const bool lower : {true, false}) {
      for (const auto& [place, packet] : buffers) {
        const auto [level, row, kept_row] = place;
        const Row other = row ^ network_.wiring(level - 1).mask;
        const Row from = kept_row ? row : other;
        if ((from == std::min(row, other)) != lower) continue;
        Queue(level, row, Direction(packet, level)).push_back(packet);
        ASSERT_EQ(buffers_.erase(place), 1u);
      }
    }
    size_t inside = buffers_.size();
    for (const auto& [place, queue] : queues_) inside += queue.size();
    ASSERT_EQ(inside + delivered_, packets_.size()) << "in step " << step;
  }

  const Network& network_;
  const QueueOrder order_;
  const std::vector<ExtraPacket> packets_;
  std::map<Place, std::deque<size_t>> queues_;
  std::map<Place, size_t> buffers_;
  std::vector<uint32_t> crossings_;
  size_t delivered_ = 0;
};

TEST(ExtraStages, EveryPacketCrossesEveryLinkWhenTheModelSaysSo) {
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kPriority}) {
    for (const auto& [n, r, t] : {std::tuple{1, 0, 3u},
                                  {1, 1, 5u},
                                  {2, 0, 7u},
                                  {3, 2, 9u},
                                  {4, 0, 12u},
                                  {4, 3, 1u},
                                  {4, 6, 10u},
                                  {5, 1, 12u}}) {
      for (const bool independent : {false, true}) {
        const Network network = Butterfly(n, r);
        const ExtraStagesConfig config{
            .order = order, .permutations = t, .independent = independent, .seed = 7};
        std::vector<uint32_t> crossings;
        const ExtraStagesResult result = RunOn(network, config, &crossings);
        const std::vector<uint32_t> plain =
            PlainModel(network, order, PacketsOf(network, config)).Run();
        ASSERT_EQ(crossings, plain) << "n=" << n << " r=" << r << " t=" << t;
        // What is reported, from the plain model's last hop.
        const std::vector<uint32_t> latency(
            plain.end() - static_cast<std::ptrdiff_t>(result.packets), plain.end());
        EXPECT_EQ(result.max_latency, *std::max_element(latency.begin(), latency.end()));
        EXPECT_DOUBLE_EQ(result.mean_latency, std::accumulate(latency.begin(), latency.end(), 0.0) /
                                                  static_cast<double>(latency.size()));
        ASSERT_EQ(result.finished.size(), t);
        for (uint32_t f = 1; f <= t; ++f) {
          EXPECT_EQ(result.finished[f - 1],
                    *std::max_element(latency.begin(), latency.begin() + f * network.rows()));
        }
      }
    }
  }
}

TEST(ExtraStages, APacketThatMeetsNoOtherTakesTwoStepsAHopLessOne) {
  // On the identity all packets go straight.
  for (const int n : {1, 3, 6}) {
    const ExtraStagesResult result = RunOn(Butterfly(n, 0), {.permutation = "identity", .seed = 1});
    EXPECT_EQ(result.max_latency, 2u * n - 1);
    EXPECT_DOUBLE_EQ(result.mean_latency, 2 * n - 1);
    EXPECT_EQ(result.congestion, 1u);
  }
  // With extra stages the fastest of many packets meets no other.
  std::vector<uint32_t> crossings;
  const Network network = Butterfly(4, 3);
  const ExtraStagesResult result = RunOn(network, {.seed = 1}, &crossings);
  EXPECT_EQ(*std::min_element(crossings.end() - static_cast<std::ptrdiff_t>(result.packets),
                              crossings.end()),
            2u * (4 + 3) - 1);
}

TEST(ExtraStages, ALinkCarriesAPacketEveryOtherStep) {
  // On the identity the t packets of an input follow each other over the same links.
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kPriority}) {
    const ExtraStagesResult result =
        RunOn(Butterfly(5, 0), {.order = order, .permutations = 50, .permutation = "identity"});
    EXPECT_EQ(result.max_latency, 2u * 5 - 1 + 2 * 49);
    EXPECT_DOUBLE_EQ(result.mean_latency, 2 * 5 - 1 + 49);
    EXPECT_EQ(result.congestion, 50u);
    EXPECT_EQ(result.node_congestion, 50u);
    // Five permutations are a set, and no packet of a later set overtakes them.
    for (const uint64_t f : {5, 10, 50}) {
      EXPECT_EQ(result.finished[f - 1], 2 * 5 - 1 + 2 * (f - 1));
    }
  }
}

TEST(ExtraStages, BitReversalTakesWhatIsCountedByHand) {
  // 2^(n/2) packets meet at a node in the middle, half of them want the same link, and nothing
  // else delays them (THEORY.md 4.7).
  for (const int n : {2, 4, 6, 8, 10, 12}) {
    const ExtraStagesResult result = RunOn(Butterfly(n, 0), {.permutation = "bitrev"});
    const uint64_t link = uint64_t{1} << (n / 2 - 1);
    EXPECT_EQ(result.max_latency, 2 * n - 1 + 2 * (link - 1)) << n;
    EXPECT_DOUBLE_EQ(result.mean_latency, static_cast<double>(2 * n - 1 + link - 1)) << n;
    EXPECT_EQ(result.congestion, link) << n;
    EXPECT_EQ(result.node_congestion, 2 * link) << n;
  }
}

TEST(ExtraStages, TransposeTakesWhatIsKnown) {
  // THEORY.md 4.7. Here packets that met go on together, so the order in the queues matters.
  const std::map<int, std::pair<uint64_t, double>> latency = {
      {8, {37, 26}}, {10, {65, 42}}, {12, {117, 70}}};
  for (const auto& [n, expected] : latency) {
    const ExtraStagesResult result =
        RunOn(Butterfly(n, 0), {.order = QueueOrder::kFifo, .permutation = "transpose"});
    EXPECT_EQ(result.max_latency, expected.first) << n;
    EXPECT_DOUBLE_EQ(result.mean_latency, expected.second) << n;
  }
}

TEST(ExtraStages, ResultsDoNotDependOnWorkers) {
  const Network network = Butterfly(8, 3);
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kPriority}) {
    ExtraStagesConfig config{.order = order, .permutations = 20, .seed = 3};
    std::vector<uint32_t> one, several;
    const ExtraStagesResult result = RunOn(network, config, &one);
    for (config.workers = 2; config.workers <= 3; ++config.workers) {
      const ExtraStagesResult other = RunOn(network, config, &several);
      EXPECT_EQ(one, several);
      EXPECT_EQ(result.mean_latency, other.mean_latency);
      EXPECT_EQ(result.finished, other.finished);
      EXPECT_EQ(result.congestion, other.congestion);
      EXPECT_EQ(result.node_congestion, other.node_congestion);
    }
  }
}

TEST(ExtraStages, PathsAreRandomInExtraStagesAndLeadToTheOutput) {
  const Network network = Butterfly(5, 7);  // extra stages repeat the first two positions twice
  const ExtraStagesConfig config{.permutations = 40, .independent = true, .seed = 11};
  const std::vector<Permutation> sequence = PermutationsOf(network, config);
  const std::vector<ExtraPacket> packets = PacketsOf(network, config);
  ASSERT_EQ(packets.size(), 40u * 32);
  std::vector<int> ones(7);
  std::set<uint32_t> numbers;
  std::vector<uint64_t> second;
  for (const ExtraPacket& packet : packets) {
    Row row = packet.number % 32;
    const uint32_t q = packet.number / 32;
    for (int hop = 0; hop < network.hops(); ++hop) {
      const int direction = packet.path >> hop & 1;
      if (hop < 7) ones[static_cast<size_t>(hop)] += direction;
      row = network.next_row(hop, row, direction);
    }
    EXPECT_EQ(row, sequence[q][packet.number % 32]);
    EXPECT_EQ(packet.path >> network.hops(), 0u);
    // Five permutations are a set; 5 * 2^7 is the largest second number.
    EXPECT_EQ(packet.priority / ((5u << 7) + 1), q / 5);
    EXPECT_LE(packet.priority, LargestPriority(network, config));
    second.push_back(packet.priority % ((5u << 7) + 1));
    numbers.insert(packet.number);
  }
  EXPECT_EQ(numbers.size(), packets.size());
  // 1,280 numbers from 641: half of them are expected in the lower half, and most values come up.
  EXPECT_NEAR(std::count_if(second.begin(), second.end(), [](uint64_t x) { return x < 320; }), 640,
              107);
  EXPECT_GT(std::set(second.begin(), second.end()).size(), 500u);
  // 1,280 fair coins: six standard deviations are 107.
  for (const int count : ones) EXPECT_NEAR(count, 640, 107);
}

TEST(ExtraStages, SequencesAreRepeatedOrIndependent) {
  const Network network = Butterfly(6, 0);
  const auto random = *PermutationByName("random", 64, 5);
  const std::vector<Permutation> repeated = PermutationsOf(network, {.permutations = 3, .seed = 5});
  ASSERT_EQ(repeated.size(), 3u);
  for (const Permutation& permutation : repeated) EXPECT_EQ(permutation, random);
  const std::vector<Permutation> independent =
      PermutationsOf(network, {.permutations = 3, .independent = true, .seed = 5});
  ASSERT_EQ(independent.size(), 3u);
  EXPECT_EQ(independent[0], random);
  EXPECT_NE(independent[1], independent[0]);
  EXPECT_NE(independent[2], independent[1]);
  for (const Permutation& permutation : independent) {
    EXPECT_TRUE(CheckPermutation(permutation, 64).ok());
  }
}

TEST(ExtraStages, RenamingConjugatesByOnePermutation) {
  const Network network = Butterfly(6, 0);
  // Bit reversal is its own inverse, has 8 rows in their places, and so has each conjugate of it.
  const Permutation renamed =
      PermutationsOf(network, {.permutation = "bitrev", .renaming = true, .seed = 9}).front();
  EXPECT_NE(renamed, *PermutationByName("bitrev", 64, 0));
  int fixed = 0;
  for (Row row = 0; row < 64; ++row) {
    EXPECT_EQ(renamed[renamed[row]], row);
    fixed += renamed[row] == row;
  }
  EXPECT_EQ(fixed, 8);
  // The identity has one conjugate. Renamed bit reversal is routed in far fewer steps than the 85
  // of bit reversal itself (Theorem 1).
  EXPECT_EQ(PermutationsOf(network, {.permutation = "identity", .renaming = true}).front(),
            *PermutationByName("identity", 64, 0));
  const ExtraStagesResult result =
      RunOn(Butterfly(12, 0), {.permutation = "bitrev", .renaming = true, .seed = 1});
  EXPECT_LT(result.max_latency, 50u);
}

TEST(ExtraStages, ExtraStagesHelpLongSequencesAndHurtShortOnes) {
  const auto mean = [](int r, uint32_t t) {
    return RunOn(Butterfly(8, r), {.permutations = t, .seed = 2}).mean_latency;
  };
  EXPECT_GT(mean(4, 1), mean(0, 1));
  EXPECT_LT(mean(4, 100), mean(0, 100));
}

TEST(ExtraStages, NamesWhatIsWrong) {
  const Network network = Butterfly(3, 1);
  const auto message = [](const Network& on, const ExtraStagesConfig& config) {
    const absl::StatusOr<ExtraStagesResult> result = RunExtraStages(on, config);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_THAT(message(network, {.permutations = 0}), HasSubstr("permutations: 0 is outside 1.."));
  EXPECT_THAT(message(network, {.permutations = 1u << 24}), HasSubstr("permutations: 16777216"));
  EXPECT_THAT(message(network, {.workers = 0}), HasSubstr("workers: 0 is outside 1..256"));
  EXPECT_THAT(message(network, {.permutation = "wild"}), HasSubstr("permutation: \"wild\""));
  EXPECT_THAT(message(network, {.permutation = "bitrev", .independent = true}),
              HasSubstr("independent: "));
  const Network benes = *Network::Make({.kind = NetworkKind::kBenes, .rows = 8});
  EXPECT_THAT(message(benes, {}), HasSubstr("network: kind is benes"));
  EXPECT_FALSE(QueueOrderFromName("lifo").ok());
  EXPECT_FALSE(NodeModelFromName("full_rate").ok());
  for (const NodeModel model : {NodeModel::kHalfRate, NodeModel::kOneArrival}) {
    EXPECT_EQ(*NodeModelFromName(NodeModelName(model)), model);
  }
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kPriority}) {
    EXPECT_EQ(*QueueOrderFromName(QueueOrderName(order)), order);
  }
}

}  // namespace
}  // namespace bfly::dataplane
