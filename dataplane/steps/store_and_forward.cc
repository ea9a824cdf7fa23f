// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/store_and_forward.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/step_clock.h"
#include "dataplane/steps/store_and_forward_rule.h"
#include "topologies/crew.h"
#include "topologies/faulty_switches.h"
#include "topologies/usable_links.h"

namespace bfly::dataplane {
namespace {

// Among the levels that hold packets, the level nearest to the outputs sends a packet on in every
// step of the model, which is two steps of the clock.
constexpr uint64_t kIdleSteps = 4;

bool HasOneDirectionAHop(const Network& network) {
  switch (network.kind()) {
    case NetworkKind::kButterfly:
    case NetworkKind::kRandomlyWiredButterfly:
    case NetworkKind::kDilatedButterfly:
    case NetworkKind::kMultibutterfly:
      return network.hops() == network.dimension();
    default:
      return false;
  }
}

absl::Status CheckRange(absl::string_view field, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is outside ", least, "..", most));
}

}  // namespace

absl::Status CheckStoreAndForward(const Network& network, const StoreAndForwardConfig& config) {
  if (!HasOneDirectionAHop(network)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "network: on kind ", KindName(network.kind()),
        network.extra_hops() > 0 ? " with extra stages" : "",
        " a packet would have to choose its direction; butterfly, randomly_wired_butterfly, "
        "dilated_butterfly and multibutterfly have one direction for each hop"));
  }
  const uint64_t switches = static_cast<uint64_t>(network.levels()) * network.rows();
  if (switches > kMaxStoreAndForwardSwitches) {
    return absl::InvalidArgumentError(absl::StrCat("network: ", switches, " switches are above ",
                                                   kMaxStoreAndForwardSwitches,
                                                   "; use fewer rows"));
  }
  absl::Status status =
      CheckRange("packets", config.packets, 1, kMaxStoreAndForwardPackets / network.rows());
  if (status.ok()) status = CheckRange("buffer", config.buffer, 0, kMaxStoreAndForwardPackets);
  if (status.ok()) {
    status = CheckRange("workers", static_cast<uint64_t>(std::max(config.workers, 0)), 1,
                        kMaxStoreAndForwardWorkers);
  }
  if (!status.ok()) return status;
  return TrafficPattern::Make(config.traffic, network.rows()).status();
}

absl::StatusOr<StoreAndForwardResult> RunStoreAndForward(const Network& network,
                                                         const FaultSet& faults,
                                                         const StoreAndForwardConfig& config,
                                                         std::vector<uint32_t>* latencies) {
  if (absl::Status status = CheckStoreAndForward(network, config); !status.ok()) return status;
  const TrafficPattern traffic = *TrafficPattern::Make(config.traffic, network.rows());
  const FaultySwitches faulty(faults);
  const std::vector<bool> usable = UsableLinks(network, faulty);

  StoreAndForwardResult result;
  result.packets = uint64_t{network.rows()} * config.packets;
  result.faulty_switches = faulty.count_up_but_faulty();
  std::vector<Row> outputs(result.packets);
  std::vector<uint32_t> steps(result.packets);
  const StoreAndForwardRule rule(network, config.buffer, config.seed, outputs, usable, steps);
  Crew crew(config.workers);
  StepClock<StoreAndForwardRule> clock(network, rule, crew);
  for (Row input = 0; input < network.rows(); ++input) {
    for (uint32_t k = 0; k < config.packets; ++k) {
      const uint32_t packet = input * config.packets + k;
      outputs[packet] = traffic.Destination(input, k);
      if (faulty.counts(0, input) || !faulty.reached()[outputs[packet]]) {
        ++result.left_out;
      } else {
        clock.node(0, input).packets.push_back(packet);
      }
    }
    clock.Wake(0, input);
  }
  const StepEnd end =
      clock.Run({.idle_steps = kIdleSteps,
                 .interrupted = config.interrupted ? &config.interrupted : nullptr});
  if (end == StepEnd::kInterrupted) return absl::CancelledError("interrupted between two steps");
  const StoreAndForwardRule::Tally tally = clock.tally();
  if (end != StepEnd::kDone || tally.delivered + result.left_out != result.packets) {
    return absl::InternalError(absl::StrCat(
        "after ", clock.step() / 2, " steps nothing moves, and ",
        result.packets - result.left_out - tally.delivered, " packets are not delivered"));
  }
  result.delivered = tally.delivered;
  result.max_latency = result.steps = tally.max_latency;
  if (tally.delivered > 0) {
    result.mean_latency =
        static_cast<double>(tally.latency_sum) / static_cast<double>(tally.delivered);
  }
  result.longest_queue = tally.longest_queue;
  if (latencies != nullptr) *latencies = std::move(steps);
  return result;
}

}  // namespace bfly::dataplane
