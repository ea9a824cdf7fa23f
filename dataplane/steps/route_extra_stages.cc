// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "dataplane/steps/extra_stages.h"
#include "dataplane/steps/extra_stages_rule.h"
#include "dataplane/steps/route_run.h"
#include "dataplane/steps/step_clock.h"

namespace bfly::dataplane {
namespace {

absl::StatusOr<ExtraStagesConfig> ConfigOf(const Network& network, const RouteRequest& request) {
  const Relation& relation = request.relation;
  ExtraStagesConfig config;
  config.order = request.order;
  config.seed = request.seed;
  config.permutations = relation.first[1];
  for (Row row = 0; row < network.rows(); ++row) {
    const uint32_t count = relation.first[row + 1] - relation.first[row];
    if (count == config.permutations) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("destinations: extra_stages takes a sequence of permutations; row ", row,
                     " sends ", count, " packets and row 0 sends ", config.permutations));
  }
  if (absl::Status status = CheckExtraStages(network, config); !status.ok()) {
    absl::string_view text = status.message();
    if (!absl::ConsumePrefix(&text, "permutations: ")) return status;
    return absl::Status(status.code(), absl::StrCat("h: ", text));
  }
  for (uint32_t q = 0; q < config.permutations; ++q) {
    Permutation permutation;
    for (Row row = 0; row < network.rows(); ++row) {
      permutation.push_back(relation.destinations[relation.first[row] + q]);
    }
    if (absl::Status status = CheckPermutation(permutation, network.rows()); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "destinations: packet ", q, " of the inputs (counted from 0): ", status.message(),
          "; extra_stages takes a sequence of permutations"));
    }
    config.given.push_back(std::move(permutation));
  }
  return config;
}

absl::Status CheckExtraStagesRoute(const Network& network, const RouteRequest& request) {
  if (request.max_steps > 0) {
    return absl::InvalidArgumentError(
        "max_steps: extra_stages always ends, because no queue is ever full; leave it out");
  }
  return ConfigOf(network, request).status();
}

uint64_t ExtraStagesNodeBytes(const Network&, const RouteRequest&) {
  return sizeof(ExtraStagesRule::Node);
}

// The number of a packet in the log.
uint32_t NumberOf(const RouteRun& run, const ExtraPacket& packet) {
  const Row rows = run.network.rows();
  return run.request.relation.first[packet.number % rows] + packet.number / rows;
}

class LoggedExtraStagesRule : public ExtraStagesRule {
 public:
  template <typename... Args>
  explicit LoggedExtraStagesRule(CrossingLog& log, const std::vector<uint32_t>& numbers,
                                 Args&&... args)
      : ExtraStagesRule(std::forward<Args>(args)...), log_(log), numbers_(numbers) {}

  void Settle(const At& at, Node& node, int port, const Answer& taken, Tally& tally) const {
    if (taken) {
      const uint32_t packet = node.queues[port].waiting.front().packet;
      log_.Cross(numbers_[packet], at.level, at.row, port, at.step + 1);
    }
    ExtraStagesRule::Settle(at, node, port, taken, tally);
  }

 private:
  CrossingLog& log_;
  const std::vector<uint32_t>& numbers_;
};

// Runs the same rule by the step clock, for a crew whose workers own nodes.
absl::Status RunInSteps(RouteRun& run, const ExtraStagesConfig& config) {
  const std::vector<ExtraPacket> packets = PacketsOf(run.network, config);
  std::vector<uint32_t> numbers;
  for (const ExtraPacket& packet : packets) numbers.push_back(NumberOf(run, packet));
  std::vector<uint32_t> crossings(packets.size() * static_cast<size_t>(run.network.hops()));
  const LoggedExtraStagesRule rule(run.log, numbers, run.network, config.model, packets, crossings);
  StepClock<LoggedExtraStagesRule> clock(run.network, rule, run.crew);
  run.crew.Lead([&] {
    for (uint32_t packet = 0; packet < packets.size(); ++packet) {
      const Row input = packet / config.permutations;
      run.log.Begin(numbers[packet], input, 0);
      rule.Enter(0, clock.node(0, input), packet);
      clock.Wake(0, input);
    }
    // A packet crosses a link or leaves a buffer in one of two steps.
    clock.Run({.idle_steps = 4});
  });
  run.report.steps = clock.step();
  return absl::OkStatus();
}

absl::Status RunExtraStagesRoute(RouteRun& run) {
  absl::StatusOr<ExtraStagesConfig> config = ConfigOf(run.network, run.request);
  if (!config.ok()) return config.status();
  if (!run.crew.blocks().empty()) return RunInSteps(run, *config);
  config->workers = run.options.workers;
  std::vector<uint32_t> crossings;
  const absl::StatusOr<ExtraStagesResult> result = RunExtraStages(run.network, *config, &crossings);
  if (!result.ok()) return result.status();
  run.report.steps = result->steps;
  const Row rows = run.network.rows();
  for (const ExtraPacket& packet : PacketsOf(run.network, *config)) {
    Row row = packet.number % rows;
    const uint32_t number = NumberOf(run, packet);
    run.log.Begin(number, row, 0);
    for (int hop = 0; hop < run.network.hops(); ++hop) {
      const int port = packet.path >> hop & 1;
      run.log.Cross(number, hop, row, port,
                    crossings[static_cast<uint64_t>(hop) * result->packets + packet.number]);
      row = run.network.next_row(hop, row, port);
    }
  }
  return absl::OkStatus();
}

}  // namespace

RouteProgramRun ExtraStagesRoute() {
  return {.program = {"extra_stages",
                      "sequences of permutations by random paths; Upfal, Felperin, Snir",
                      "butterfly, with extra_stages or without"},
          .steps_a_hop = 2,
          .check = CheckExtraStagesRoute,
          .node_bytes = ExtraStagesNodeBytes,
          .run = RunExtraStagesRoute};
}

}  // namespace bfly::dataplane
