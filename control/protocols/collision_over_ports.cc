// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/collision_over_ports.h"

#include <algorithm>

#include "control/protocols/collision_rounds.h"
#include "control/protocols/part.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// What is on the links of a stage before the first round. A link whose capacity is below c
// gets the difference on top, so that one threshold serves the whole stage.
std::vector<uint32_t> CountsBefore(const Network& network, const LinkLoad* standing,
                                   const LinkCapacity* capacity, uint32_t c, int stage) {
  if (standing == nullptr && capacity == nullptr) return {};
  const size_t links = size_t{network.rows()} * network.ports();
  std::vector<uint32_t> counts =
      standing != nullptr ? standing->stage_counts(stage) : std::vector<uint32_t>(links);
  if (capacity == nullptr) return counts;
  const uint64_t first = network.link_index({stage, 0, 0});
  for (size_t link = 0; link < links; ++link) {
    const uint32_t most = capacity->at(first + link);
    if (most != LinkCapacity::kUnlimited && most < c) counts[link] += c - most;
  }
  return counts;
}

}  // namespace

std::vector<Tag> PortCandidates(const Network& network, uint64_t seed, Row input, Row output) {
  const TagLayout& layout = network.tag_layout();
  const Tag greedy = GreedyTag(network, input, output);
  const int d = layout.multiplicity;
  std::vector<Tag> tags(static_cast<size_t>(d));
  for (int hop = 0; hop < layout.hops; ++hop) {
    const int first = layout.port(greedy, hop);
    const auto drawn = static_cast<int>(RandomBelow(
        seed, RandomStream::kPortCandidates,
        uint64_t{input} * static_cast<uint64_t>(layout.hops) + static_cast<uint64_t>(hop),
        static_cast<uint32_t>(d)));
    for (int k = 0; k < d; ++k) {
      const int port = first + (drawn + k) % d;
      tags[k] = tags[k] << layout.field_bits | static_cast<Tag>(layout.field_of(port));
    }
  }
  return tags;
}

absl::StatusOr<RouteResult> RouteCollisionOverPorts(const Network& network,
                                                    const LinkLoad* standing,
                                                    const std::vector<Request>& requests,
                                                    const ProtocolOptions& options) {
  Crew crew(static_cast<int>(std::max(options.workers, 1u)));
  const ManyPaths paths{network.multiplicity()};
  const auto each = static_cast<size_t>(paths.number());
  const int stages = network.stages();
  const auto links_of_stage = network.rows() * static_cast<uint32_t>(network.ports());

  // By stage: the link of every candidate of every request, numbered within the stage.
  std::vector<std::vector<uint32_t>> crossed(static_cast<size_t>(stages));
  for (auto& links : crossed) links.resize(each * requests.size());
  std::vector<Tag> candidates(each * requests.size());
  crew.ForEachPart(requests.size(), kCrewPart, [&](int, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto& [input, output] = requests[i];
      const std::vector<Tag> tags = PortCandidates(network, options.seed, input, output);
      for (size_t k = 0; k < each; ++k) {
        candidates[i * each + k] = tags[k];
        int stage = 0;
        ForEachLink(network, input, tags[k], [&](uint64_t link) {
          crossed[stage++][i * each + k] = static_cast<uint32_t>(link % links_of_stage);
        });
      }
    }
  });

  const uint32_t c = options.c != 0 ? options.c : CollisionThreshold(network.dimension());
  std::vector<std::vector<uint32_t>> counts;
  std::vector<CollisionColumn> columns;
  for (int stage = 0; stage < stages; ++stage) {
    counts.push_back(CountsBefore(network, standing, options.capacity, c, stage));
    columns.push_back({.links = links_of_stage,
                       .limit = c,
                       .standing = counts.back().empty() ? nullptr : counts.back().data()});
  }
  const auto links_of = [&](size_t column) {
    return [links = crossed[column].data(), each](uint32_t i, int which) {
      return links[i * each + static_cast<size_t>(which)];
    };
  };
  const auto broken = BrokenPaths(
      paths, options.faults, requests.size(), [&](size_t i) { return requests[i].input; },
      [&](size_t i, int which) { return candidates[i * each + static_cast<size_t>(which)]; });
  const CollisionOutcome outcome =
      RunCollisionRounds(paths, static_cast<uint32_t>(requests.size()), columns,
                         options.max_rounds != 0 ? options.max_rounds : ~0u,
                         broken.empty() ? nullptr : broken.data(), crew, links_of);

  RouteResult result;
  result.rounds = static_cast<uint32_t>(outcome.left_per_round.size());
  result.messages = outcome.messages;
  result.left_per_round = outcome.left_per_round;
  result.requests_left = outcome.left;
  result.rounds_asked = outcome.rounds_asked;
  result.c = c;
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool left = outcome.choice[i] == CollisionOutcome::kLeft;
    const int taken = left ? PathOfLeft(paths, broken, i) : outcome.choice[i];
    result.paths.push_back({requests[i].input, requests[i].output,
                            candidates[i * each + static_cast<size_t>(taken)],
                            left ? PathChoice::kArbitrary : PathChoice::kCandidate});
  }
  result.candidates = std::move(candidates);
  MeasureCongestion(network, standing, crew, result);
  return result;
}

}  // namespace bfly::control
