// SPDX-License-Identifier: Apache-2.0
// The c-collision protocol on BB_n (Cole et al. 1998, section 2.1; THEORY.md 2.3): in each round
// every request takes one of its two random paths if that path shares each of its links with at
// most c-1 others. Where a direction has several ports, collision_over_ports.h says what the paths
// are.
#include <algorithm>

#include "control/protocols/collision_over_ports.h"
#include "control/protocols/collision_rounds.h"
#include "control/protocols/part.h"
#include "control/protocols/protocols.h"
#include "topologies/switch_settings.h"

namespace bfly::control {

uint32_t CollisionThreshold(int dimension) {
  uint32_t c = 1;
  for (int64_t factorial = 1; factorial <= dimension; factorial *= c) ++c;
  return c;
}

namespace {

absl::StatusOr<RouteResult> RouteCollision(const Network& network, const LinkLoad* standing,
                                           const std::vector<Request>& requests,
                                           const ProtocolOptions& options) {
  if (network.kind() != NetworkKind::kTwoFoldButterfly) {
    return RouteCollisionOverPorts(network, standing, requests, options);
  }
  absl::StatusOr<SwitchSettings> settings = SwitchSettings::Make(network);
  if (!settings.ok()) return settings.status();
  Crew crew(static_cast<int>(std::max(options.workers, 1u)));
  const CandidatePaths candidates(*settings, crew);
  const int d = network.dimension();
  std::vector<Row> middle(2 * requests.size());
  crew.ForEachPart(requests.size(), kCrewPart, [&](int, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      for (int which : {0, 1}) {
        middle[2 * i + which] = candidates.middle(requests[i].input, requests[i].output, which);
      }
    }
  });

  // The candidate paths of distinct inputs and outputs meet on collision links only. Standing
  // circuits may be on any link.
  const bool alone = standing == nullptr;
  const int first = alone ? candidates.first_collision_hop() : 0;
  const int last = alone ? first + d : 2 * d;
  const uint32_t c = options.c != 0 ? options.c : CollisionThreshold(d);
  std::vector<std::vector<uint32_t>> counts;
  std::vector<CollisionColumn> columns;
  for (int stage = first; stage < last; ++stage) {
    if (!alone) counts.push_back(standing->stage_counts(stage));
    columns.push_back({.links = 2 * network.rows(),
                       .limit = c,
                       .standing = alone ? nullptr : counts.back().data()});
  }
  const Row* const middles = middle.data();
  const Request* const wanted = requests.data();
  // At level l of a copy, a path's row has its first l positions from the copy's last row and the
  // other positions from the copy's first row.
  const auto links_of = [=](size_t column) {
    const int stage = first + static_cast<int>(column);
    const bool in_first_copy = stage < d;
    const int port_shift = d - 1 - stage % d;
    const Row still = (Row{2} << port_shift) - 1;
    return [=](uint32_t i, int which) {
      const Row m = middles[2 * size_t{i} + which];
      const Row start = in_first_copy ? wanted[i].input : m;
      const Row end = in_first_copy ? m : wanted[i].output;
      return 2 * ((end & ~still) | (start & still)) + ((end >> port_shift) & 1);
    };
  };
  const std::vector<uint8_t> broken = BrokenPaths(
      TwoPaths(), options.faults, requests.size(), [&](size_t i) { return requests[i].input; },
      [&](size_t i, int which) {
        return TagThrough(network, middle[2 * i + which], requests[i].output);
      });
  const CollisionOutcome outcome =
      RunCollisionRounds(TwoPaths(), static_cast<uint32_t>(requests.size()), columns,
                         options.max_rounds != 0 ? options.max_rounds : ~0u,
                         broken.empty() ? nullptr : broken.data(), crew, links_of);

  RouteResult result;
  result.rounds = static_cast<uint32_t>(outcome.left_per_round.size());
  result.messages = outcome.messages;
  result.left_per_round = outcome.left_per_round;
  result.requests_left = outcome.left;
  result.rounds_asked = outcome.rounds_asked;
  result.c = c;
  result.paths.resize(requests.size());
  result.buddies.resize(requests.size());
  crew.ForEachPart(requests.size(), kCrewPart, [&](int, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto& [input, output] = requests[i];
      const uint8_t choice = outcome.choice[i];
      // A request that is left over takes p, or p' if faults break p only. Any path will do,
      // because the bound on the congestion is forfeited.
      const bool left = choice == CollisionOutcome::kLeft;
      result.buddies[i] = {TagThrough(network, middle[2 * i], output),
                           TagThrough(network, middle[2 * i + 1], output)};
      result.paths[i] = {input, output,
                         result.buddies[i][left ? PathOfLeft(TwoPaths(), broken, i) : choice],
                         left          ? PathChoice::kArbitrary
                         : choice == 0 ? PathChoice::kP
                                       : PathChoice::kPPrime};
    }
  });
  MeasureCongestion(network, standing, crew, result);
  return result;
}

}  // namespace

const Protocol kCollision = {
    .name = "collision",
    .help =
        "rounds in which a request takes a random path that at most c-1 others share: one of two, "
        "or of as many as a direction has ports on a dilated butterfly and a multibutterfly",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kTwoFoldButterfly || kind == NetworkKind::kDilatedButterfly ||
                 kind == NetworkKind::kMultibutterfly;
        },
    .make_chooser = nullptr,
    .route = RouteCollision,
    .uses_workers = true,
    .takes_c = true,
};

}  // namespace bfly::control
