// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/extra_stages.h"
#include "dataplane/steps/extra_stages_rule.h"
#include "dataplane/steps/step_clock.h"
#include "topologies/crew.h"

namespace bfly::dataplane {
namespace {

// The packet that is nearest to its output crosses a link or leaves a buffer in one of two steps.
constexpr uint64_t kStepsOfAMove = 4;

// Where packets go does not depend on when they go.
void CountCongestion(const Network& network, const std::vector<ExtraPacket>& packets,
                     ExtraStagesResult& result) {
  std::vector<Row> at(packets.size());
  for (size_t i = 0; i < packets.size(); ++i) at[i] = packets[i].number % network.rows();
  for (int hop = 0; hop < network.hops(); ++hop) {
    std::vector<uint32_t> links(size_t{2} * network.rows()), nodes(network.rows());
    for (size_t i = 0; i < packets.size(); ++i) {
      const int direction = packets[i].path >> hop & 1;
      result.congestion = std::max(result.congestion, ++links[2 * size_t{at[i]} + direction]);
      if (hop > 0) result.node_congestion = std::max(result.node_congestion, ++nodes[at[i]]);
      at[i] = network.next_row(hop, at[i], direction);
    }
  }
}

ExtraStagesResult ResultOf(const Network& network, const std::vector<ExtraPacket>& packets,
                           const std::vector<uint32_t>& crossings) {
  ExtraStagesResult result;
  result.packets = packets.size();
  result.hops = crossings.size();
  result.finished.resize(packets.size() / network.rows());
  uint64_t latency_sum = 0;
  const uint32_t* const delivered = &crossings[crossings.size() - packets.size()];
  for (size_t number = 0; number < packets.size(); ++number) {
    latency_sum += delivered[number];
    result.max_latency = std::max<uint64_t>(result.max_latency, delivered[number]);
    result.finished[number / network.rows()] = result.max_latency;
  }
  result.steps = result.max_latency;
  result.mean_latency = static_cast<double>(latency_sum) / static_cast<double>(packets.size());
  CountCongestion(network, packets, result);
  return result;
}

}  // namespace

absl::StatusOr<ExtraStagesResult> RunExtraStagesInSteps(const Network& network,
                                                        const ExtraStagesConfig& config,
                                                        std::vector<uint32_t>* crossings) {
  if (absl::Status status = CheckExtraStages(network, config); !status.ok()) return status;
  const std::vector<ExtraPacket> packets = PacketsOf(network, config);
  std::vector<uint32_t> crossed(packets.size() * static_cast<size_t>(network.hops()));
  const ExtraStagesRule rule(network, config.model, packets, crossed);
  Crew crew(config.workers);
  StepClock<ExtraStagesRule> clock(network, rule, crew);
  for (Row input = 0; input < network.rows(); ++input) {
    ExtraStagesRule::Node& node = clock.node(0, input);
    const uint32_t first = input * config.permutations;
    uint32_t next = first;
    const uint32_t in_queues = config.model == NodeModel::kHalfRate ? config.permutations : 1;
    for (; next < first + in_queues; ++next) rule.Enter(0, node, next);
    for (uint32_t last = first + config.permutations; last-- > next;) node.outside.push_back(last);
    clock.Wake(0, input);
  }
  const StepEnd end = clock.Run({.idle_steps = kStepsOfAMove});
  if (const uint64_t delivered = clock.tally().delivered;
      end != StepEnd::kDone || delivered != packets.size()) {
    return absl::InternalError(absl::StrCat("after ", clock.step(), " steps nothing moves, and ",
                                            packets.size() - delivered,
                                            " packets are not delivered"));
  }
  ExtraStagesResult result = ResultOf(network, packets, crossed);
  if (crossings != nullptr) *crossings = std::move(crossed);
  return result;
}

}  // namespace bfly::dataplane
