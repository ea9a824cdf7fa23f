// SPDX-License-Identifier: Apache-2.0
// The baseline: every request takes the greedy path of the network, whatever the load
// (THEORY.md 2.8, "Direct").
#include "control/protocols/protocols.h"

namespace bfly::control {
namespace {

class GreedyChooser : public PathChooser {
 public:
  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    return {input, output, GreedyTag(load.network(), input, output), PathChoice::kGreedy};
  }
};

std::unique_ptr<PathChooser> MakeGreedy(const Network&, const ProtocolOptions&) {
  return std::make_unique<GreedyChooser>();
}

absl::StatusOr<RouteResult> RouteGreedy(const Network& network, const LinkLoad* standing,
                                        const std::vector<Request>& requests,
                                        const ProtocolOptions&) {
  return RouteUnasked(GreedyChooser(), network, standing, requests);
}

}  // namespace

const Protocol kGreedy = {
    .name = "greedy",
    .help = "the one greedy path of each request, whatever the load",
    .defined_on = [](NetworkKind) { return true; },
    .make_chooser = MakeGreedy,
    .route = RouteGreedy,
};

}  // namespace bfly::control
