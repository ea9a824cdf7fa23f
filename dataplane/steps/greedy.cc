// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/greedy.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/steps/greedy_rule.h"

namespace bfly::dataplane {
namespace {

// The packets for one half of the rows, or for all rows. They meet packets for the other half only
// at inputs, where the halves have queues and ports of their own, so both halves run by themselves.
struct GreedyPart {
  std::vector<GreedyPacket> packets;
  std::vector<Row> inputs;  // the input of each packet
  uint64_t delivered = 0, moves = 0, steps = 0, latency_sum = 0;
  uint32_t longest = 0;
  StepEnd end = StepEnd::kDone;
};

template <bool kLimited>
void RunPart(const Network& network, const GreedyConfig& config, GreedyPart& part) {
  const GreedyRule<kLimited> rule(network, part.packets, config.queue);
  Crew alone(1);
  StepClock<GreedyRule<kLimited>> clock(network, rule, alone);
  for (uint32_t packet = 0; packet < part.packets.size(); ++packet) {
    rule.Hold(clock.node(0, part.inputs[packet]), packet);
  }
  for (Row row = 0; row < network.rows(); ++row) clock.Wake(0, row);
  part.end = clock.Run({.steps = config.step_limit == 0 ? UINT64_MAX : config.step_limit});
  const auto tally = clock.tally();
  part.delivered = tally.delivered;
  part.moves = tally.moves;
  part.latency_sum = tally.latency_sum;
  part.longest = tally.longest;
  part.steps = clock.step();
}

absl::Status Check(const Network& network, const GreedyConfig& config) {
  if (absl::Status status = CheckGreedyNetwork(network); !status.ok()) return status;
  const size_t packets = config.destinations.size();
  if (packets == 0 || packets % network.rows() != 0 || packets > kMaxGreedyPackets) {
    return absl::InvalidArgumentError(
        absl::StrCat("destinations: ", packets, " is not a multiple of the ", network.rows(),
                     " rows from ", network.rows(), " to ", kMaxGreedyPackets));
  }
  for (size_t packet = 0; packet < packets; ++packet) {
    if (config.destinations[packet] >= network.rows()) {
      return absl::InvalidArgumentError(
          absl::StrCat("destinations: packet ", packet % (packets / network.rows()), " of input ",
                       packet / (packets / network.rows()), " goes to row ",
                       config.destinations[packet], ", outside 0..", network.rows() - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGreedyNetwork(const Network& network) {
  if (network.hops() != network.dimension() || !network.ends_left_to_right()) {
    return absl::InvalidArgumentError(
        absl::StrCat("network.kind: greedy steps need stages that set every position of the "
                     "address once, from the left to the right, such as those of a "
                     "multibutterfly; this is a ",
                     KindName(network.kind()), " with ", network.hops(), " hops for ",
                     network.dimension(), " positions"));
  }
  return absl::OkStatus();
}

absl::StatusOr<GreedyResult> RunGreedy(const Network& network, const GreedyConfig& config,
                                       Crew& crew) {
  if (absl::Status status = Check(network, config); !status.ok()) return status;
  std::array<GreedyPart, 2> parts;
  const size_t each = config.destinations.size() / network.rows();
  const bool halves = crew.workers() > 1;
  for (size_t packet = 0; packet < config.destinations.size(); ++packet) {
    const Row to = config.destinations[packet];
    GreedyPart& part = parts[halves && to >= network.rows() / 2 ? 1 : 0];
    part.packets.push_back({.destination = to});
    part.inputs.push_back(static_cast<Row>(packet / each));
  }
  crew.ForEach(halves ? 2 : 1, [&](int, size_t half) {
    if (config.queue > 0) {
      RunPart<true>(network, config, parts[half]);
    } else {
      RunPart<false>(network, config, parts[half]);
    }
  });
  GreedyResult result{.packets = config.destinations.size()};
  uint64_t latency_sum = 0;
  for (const GreedyPart& part : parts) {
    result.delivered += part.delivered;
    result.moves += part.moves;
    result.steps = std::max(result.steps, part.steps);
    result.longest_queue = std::max(result.longest_queue, part.longest);
    latency_sum += part.latency_sum;
    if (part.end != StepEnd::kDone) result.end = part.end;
  }
  if (result.delivered > 0) {
    result.mean_latency = static_cast<double>(latency_sum) / static_cast<double>(result.delivered);
  }
  return result;
}

}  // namespace bfly::dataplane
