// SPDX-License-Identifier: Apache-2.0
// The step rule of butterflies with extra stages against the engine of its own that the model has.
#include "dataplane/steps/extra_stages_rule.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "dataplane/steps/step_clock.h"
#include "topologies/crew.h"

namespace bfly::dataplane {
namespace {

Network ExtraButterfly(int n, int r) {
  return *Network::Make(
      {.kind = NetworkKind::kButterfly, .rows = uint32_t{1} << n, .extra_stages = r});
}

ExtraStagesResult RunWhole(const Network& network, const ExtraStagesConfig& config,
                           std::vector<uint32_t>* crossings = nullptr) {
  const absl::StatusOr<ExtraStagesResult> result = RunExtraStages(network, config, crossings);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

TEST(ExtraStagesRule, TheEngineGivesWhatTheStepRuleGives) {
  for (const QueueOrder order : {QueueOrder::kFifo, QueueOrder::kPriority}) {
    for (const auto& [n, r, t] : {std::tuple{1, 0, 3u},
                                  {5, 0, 30u},
                                  {6, 8, 20u},
                                  {8, 2, 40u},
                                  {1, 20, 5000u},
                                  {13, 20, 1u}}) {
      const Network network = ExtraButterfly(n, r);
      const ExtraStagesConfig config{.order = order, .permutations = t, .seed = 4};
      std::vector<uint32_t> crossings, in_steps;
      const ExtraStagesResult result = RunWhole(network, config, &crossings);
      const absl::StatusOr<ExtraStagesResult> stepped =
          RunExtraStagesInSteps(network, config, &in_steps);
      ASSERT_TRUE(stepped.ok()) << stepped.status();
      EXPECT_EQ(crossings, in_steps);
      EXPECT_EQ(result.mean_latency, stepped->mean_latency);
      EXPECT_EQ(result.max_latency, stepped->max_latency);
      EXPECT_EQ(result.finished, stepped->finished);
      EXPECT_EQ(result.congestion, stepped->congestion);
      EXPECT_EQ(result.node_congestion, stepped->node_congestion);
      EXPECT_EQ(result.hops, stepped->hops);
    }
  }
}

TEST(ExtraStagesRule, TheStepRuleLosesNothingInAnyStep) {
  const Network network = ExtraButterfly(5, 2);
  for (const NodeModel model : {NodeModel::kHalfRate, NodeModel::kOneArrival}) {
    const std::vector<ExtraPacket> packets = PacketsOf(network, {.permutations = 12, .seed = 8});
    std::vector<uint32_t> crossings(packets.size() * static_cast<size_t>(network.hops()));
    const ExtraStagesRule rule(network, model, packets, crossings);
    Crew crew(1);
    StepClock<ExtraStagesRule> clock(network, rule, crew);
    for (uint32_t packet = 0; packet < packets.size(); ++packet) {
      rule.Enter(0, clock.node(0, packet / 12), packet);
      clock.Wake(0, packet / 12);
    }
    const StepEnd end = clock.Run({.steps = 1000}, [&](const auto& now) {
      uint64_t inside = 0;
      for (int level = 0; level < network.hops(); ++level) {
        for (Row row = 0; row < network.rows(); ++row) {
          const ExtraStagesRule::Node& node = now.node(level, row);
          for (const ExtraStagesRule::Queue& queue : node.queues) inside += queue.waiting.size();
          for (const uint32_t packet : node.buffers) inside += packet != ExtraStagesRule::kNone;
          for (const uint32_t packet : node.coming) EXPECT_EQ(packet, ExtraStagesRule::kNone);
        }
      }
      ASSERT_EQ(inside + now.tally().delivered, packets.size()) << "after step " << now.step();
    });
    EXPECT_EQ(end, StepEnd::kDone);
    EXPECT_EQ(clock.tally().delivered, packets.size());
  }
}

TEST(ExtraStagesRule, WhereQueuesTakeOnePacketAStepPacketsWaitLonger) {
  const auto with = [](NodeModel model, uint32_t t, const char* permutation, int workers) {
    return RunWhole(ExtraButterfly(6, 0), {.model = model,
                                           .permutations = t,
                                           .permutation = permutation,
                                           .seed = 1,
                                           .workers = workers});
  };
  // Packets of the identity never want the same queue.
  EXPECT_EQ(with(NodeModel::kOneArrival, 9, "identity", 1).mean_latency, 2 * 6 - 1 + 8);
  EXPECT_EQ(with(NodeModel::kOneArrival, 9, "identity", 1).max_latency, 2u * 6 - 1 + 16);
  const ExtraStagesResult half = with(NodeModel::kHalfRate, 20, "random", 1);
  const ExtraStagesResult one = with(NodeModel::kOneArrival, 20, "random", 1);
  EXPECT_GE(one.mean_latency, half.mean_latency);
  EXPECT_LE(one.mean_latency, 1.06 * half.mean_latency);
  EXPECT_EQ(one.congestion, half.congestion);
  EXPECT_EQ(one.finished, with(NodeModel::kOneArrival, 20, "random", 3).finished);
}

TEST(ExtraStagesRule, WhereAQueueTakesOnePacketAStepBuffersTakeTurns) {
  const Network network = ExtraButterfly(3, 0);
  const std::vector<ExtraPacket> packets(3);  // all of them go the same way
  std::vector<uint32_t> crossings(9);
  const ExtraStagesRule rule(network, NodeModel::kOneArrival, packets, crossings);
  const At at{.step = 1, .level = 1, .row = 0};
  ExtraStagesRule::Node node;
  ExtraStagesRule::Tally tally;
  node.buffers[0] = 0;
  node.buffers[1] = 1;
  rule.End(at, node, tally);
  EXPECT_EQ(node.buffers[0], ExtraStagesRule::kNone);
  EXPECT_EQ(node.buffers[1], 1u);
  node.buffers[0] = 2;
  rule.End(at, node, tally);
  EXPECT_EQ(node.buffers[0], 2u);
  EXPECT_EQ(node.buffers[1], ExtraStagesRule::kNone);
  EXPECT_EQ(node.queues[0].waiting.size(), 2u);
}

}  // namespace
}  // namespace bfly::dataplane
