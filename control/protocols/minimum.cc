// SPDX-License-Identifier: Apache-2.0
// The minimum protocol on BB_n (Cole et al. 1998, section 2.2; THEORY.md 2.5). Of its two random
// paths a request takes the path whose fullest collision link carries fewer established circuits, p
// if they tie. If faults leave only one path whole, it takes that path.
//
// On a dilated butterfly the directions are given. Each hop takes the port of its direction with
// the fewest circuits, the first of those that tie. While no circuit is released and no port is
// full or down, the ports of a direction differ by at most one circuit. So if L circuits go in a
// direction, no port has more than ceil(L / multiplicity).
//
// On a multibutterfly a request has multiplicity^d paths, and takes one whose fullest link carries
// the fewest circuits (control/protocols/bottleneck_path.h). The controller looks at its own counts
// of the links, so no probe is sent.
#include <algorithm>

#include "control/protocols/bottleneck_path.h"
#include "control/protocols/protocols.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

class MinimumChooser : public PathChooser {
 public:
  MinimumChooser(const Network& network, const FaultSet* faults)
      : dimension_(network.dimension()),
        candidates_(*SwitchSettings::Make(network)),
        faults_(faults) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Row p = candidates_.middle(input, output, 0);
    const Row p_prime = candidates_.middle(input, output, 1);
    bool second = MostOnCollisionLinks(load, input, p_prime, output) <
                  MostOnCollisionLinks(load, input, p, output);
    if (faults_ != nullptr && !faults_->empty()) {
      const auto is_whole = [&](Row middle) {
        return faults_->IsWhole(input, TagOf(middle, output));
      };
      if (!is_whole(second ? p_prime : p) && is_whole(second ? p : p_prime)) second = !second;
    }
    return {input, output, TagOf(second ? p_prime : p, output),
            second ? PathChoice::kPPrime : PathChoice::kP};
  }

  const CandidatePaths& candidates() const { return candidates_; }

 private:
  Tag TagOf(Row middle, Row output) const { return Tag{middle} << dimension_ | output; }

  // The most circuits on a collision link of the path from `input` through row `middle` at level d
  // to `output`. At level h, where its collision links begin, the path's row has the first h
  // positions of `middle` and the other positions of `input`.
  uint32_t MostOnCollisionLinks(const LinkLoad& load, Row input, Row middle, Row output) const {
    const int first = candidates_.first_collision_hop();
    const Row still = (Row{1} << (dimension_ - first)) - 1;
    return load.MaxOnHops((middle & ~still) | (input & still), TagOf(middle, output), first,
                          first + dimension_);
  }

  int dimension_;
  CandidatePaths candidates_;
  const FaultSet* const faults_;
};

// Chooses ports on a dilated butterfly.
class LeastLoadedPorts : public PathChooser {
 public:
  explicit LeastLoadedPorts(const ProtocolOptions& options) : options_(options) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Network& network = load.network();
    const TagLayout& layout = network.tag_layout();
    const Tag greedy = GreedyTag(network, input, output);
    Tag tag = 0;
    Row row = input;
    for (int hop = 0; hop < layout.hops; ++hop) {
      const int first = layout.port(greedy, hop);
      const int port = LeastLoaded(load, {network.stage_of_hop(hop), row, first});
      tag = tag << layout.field_bits | static_cast<Tag>(layout.field_of(port));
      row = network.next_row(network.stage_of_hop(hop), row, port);
    }
    return {input, output, tag, PathChoice::kLeastLoaded};
  }

 private:
  // Returns the least loaded port of the direction that no fault blocks and that has room, or the
  // first if there is none.
  int LeastLoaded(const LinkLoad& load, LinkId link) const {
    const Network& network = load.network();
    const int first = link.port;
    int best = first;
    uint32_t least = ~0u;
    for (link.port = first; link.port < first + network.multiplicity(); ++link.port) {
      if (!options_.MayCross(load, link)) continue;
      const uint32_t circuits = load.on(link);
      if (circuits >= least) continue;
      least = circuits;
      best = link.port;
    }
    return best;
  }

  const ProtocolOptions options_;
};

std::unique_ptr<PathChooser> MakeMinimum(const Network& network, const ProtocolOptions& options) {
  if (network.kind() == NetworkKind::kDilatedButterfly) {
    return std::make_unique<LeastLoadedPorts>(options);
  }
  if (network.kind() == NetworkKind::kMultibutterfly) {
    return std::make_unique<BottleneckPath>(options);
  }
  return std::make_unique<MinimumChooser>(network, options.faults);
}

// Requests are routed one after the other, each in a round of its own. A probe goes forward and
// back along each of its two candidate paths, on a dilated butterfly along its one path. On a
// multibutterfly one packet goes forward and reserves the path.
absl::StatusOr<RouteResult> RouteMinimum(const Network& network, const LinkLoad* standing,
                                         const std::vector<Request>& requests,
                                         const ProtocolOptions& options) {
  if (network.kind() == NetworkKind::kDilatedButterfly) {
    RouteResult result = RouteOneByOne(LeastLoadedPorts(options), network, standing, requests);
    result.rounds = static_cast<uint32_t>(requests.size());
    result.messages = 2 * uint64_t{requests.size()};
    result.passes_alone = 2;
    return result;
  }
  if (network.kind() == NetworkKind::kMultibutterfly) {
    RouteResult result = RouteOneByOne(BottleneckPath(options), network, standing, requests);
    result.rounds = static_cast<uint32_t>(requests.size());
    result.messages = requests.size();
    result.passes_alone = 1;
    return result;
  }
  const MinimumChooser chooser(network, options.faults);
  RouteResult result = RouteOneByOne(chooser, network, standing, requests);
  result.buddies.reserve(requests.size());
  for (const auto& [input, output] : requests) {
    result.buddies.push_back(chooser.candidates().tags(input, output));
  }
  result.rounds = static_cast<uint32_t>(requests.size());
  result.messages = 4 * uint64_t{requests.size()};
  result.passes_alone = 2;
  return result;
}

}  // namespace

const Protocol kMinimum = {
    .name = "minimum",
    .help =
        "of two random paths of a request, the path whose fullest link has fewer circuits; on a "
        "dilated butterfly the port with the fewest circuits at each hop; on a multibutterfly the "
        "path whose fullest link has the fewest circuits",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kTwoFoldButterfly || kind == NetworkKind::kDilatedButterfly ||
                 kind == NetworkKind::kMultibutterfly;
        },
    .make_chooser = MakeMinimum,
    .route = RouteMinimum,
};

}  // namespace bfly::control
