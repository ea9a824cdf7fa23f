// SPDX-License-Identifier: Apache-2.0
// The minimum protocol on BB_n (Cole et al. 1998, section 2.2; THEORY.md 2.5): of its two random
// paths a request takes the one whose fullest collision link carries fewer established circuits, p
// if they tie.
#include <algorithm>

#include "control/protocols/protocols.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

class MinimumChooser : public PathChooser {
 public:
  explicit MinimumChooser(const Network& network)
      : dimension_(network.dimension()), candidates_(*SwitchSettings::Make(network)) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Row p = candidates_.middle(input, output, 0);
    const Row p_prime = candidates_.middle(input, output, 1);
    const bool second = MostOnCollisionLinks(load, input, p_prime, output) <
                        MostOnCollisionLinks(load, input, p, output);
    const Row middle = second ? p_prime : p;
    return {input, output, (Tag{middle} << dimension_) | output,
            second ? PathChoice::kPPrime : PathChoice::kP};
  }

  const CandidatePaths& candidates() const { return candidates_; }

 private:
  // The path from `input` through row `middle` at level d to `output`. At level l <= d it stands in
  // the row whose first l positions are those of `middle` and the others those of `input`; likewise
  // in the second copy. So its links need no walk.
  uint32_t MostOnCollisionLinks(const LinkLoad& load, Row input, Row middle, Row output) const {
    const int first = candidates_.first_collision_hop();
    return std::max(MostOnStages(load, 0, first, dimension_, input, middle),
                    MostOnStages(load, dimension_, 0, first, middle, output));
  }

  // Stages first_stage + from .. first_stage + to - 1 of one copy of the butterfly, crossed from
  // row `start` of its first level to row `end` of its last.
  uint32_t MostOnStages(const LinkLoad& load, int first_stage, int from, int to, Row start,
                        Row end) const {
    uint32_t most = 0;
    for (int l = from; l < to; ++l) {
      const Row still_start = (Row{1} << (dimension_ - l)) - 1;
      const Row row = (end & ~still_start) | (start & still_start);
      const uint64_t node = (static_cast<uint64_t>(first_stage + l) << dimension_) | row;
      most = std::max(most, load.on_index(2 * node + ((end >> (dimension_ - 1 - l)) & 1)));
    }
    return most;
  }

  int dimension_;
  CandidatePaths candidates_;
};

std::unique_ptr<PathChooser> MakeMinimum(const Network& network, const ProtocolOptions&) {
  return std::make_unique<MinimumChooser>(network);
}

// One request after the other, each a round of its own: a probe along each candidate path forward
// and back.
absl::StatusOr<RouteResult> RouteMinimum(const Network& network, const LinkLoad* standing,
                                         const std::vector<Request>& requests,
                                         const ProtocolOptions&) {
  const MinimumChooser chooser(network);
  RouteResult result = RouteOneByOne(chooser, network, standing, requests);
  result.buddies.reserve(requests.size());
  for (const auto& [input, output] : requests) {
    result.buddies.push_back(chooser.candidates().tags(input, output));
  }
  result.rounds = static_cast<uint32_t>(requests.size());
  result.messages = 4 * uint64_t{requests.size()};
  return result;
}

}  // namespace

const Protocol kMinimum = {
    .name = "minimum",
    .help = "two random paths a request, the one with the less full fullest link is taken",
    .defined_on = [](NetworkKind kind) { return kind == NetworkKind::kTwoFoldButterfly; },
    .make_chooser = MakeMinimum,
    .route = RouteMinimum,
};

}  // namespace bfly::control
