// SPDX-License-Identifier: Apache-2.0
// The baseline with one random choice (THEORY.md 2.8): a fair coin chooses between the two random
// paths of a request, whatever the load. If a fault breaks one of the two only, the request takes
// the other.
#include <optional>

#include "control/protocols/protocols.h"
#include "topologies/random.h"
#include "topologies/switch_settings.h"

namespace bfly::control {
namespace {

class OneChoiceChooser : public PathChooser {
 public:
  OneChoiceChooser(const Network& network, const ProtocolOptions& options) : options_(options) {
    if (options.candidates == nullptr) own_.emplace(*SwitchSettings::Make(network));
  }

  CircuitPath Choose(const LinkLoad&, Row input, Row output) const override {
    const CandidatePaths& candidates = own_.has_value() ? *own_ : *options_.candidates;
    bool second = RandomBelow(options_.seed, RandomStream::kOneChoice, input, 2) != 0;
    if (!options_.IsWhole(input, candidates.tag(input, output, second)) &&
        options_.IsWhole(input, candidates.tag(input, output, !second))) {
      second = !second;
    }
    return {input, output, candidates.tag(input, output, second),
            second ? PathChoice::kPPrime : PathChoice::kP};
  }

 private:
  const ProtocolOptions options_;
  std::optional<CandidatePaths> own_;  // if the options have none
};

std::unique_ptr<PathChooser> MakeOneChoice(const Network& network, const ProtocolOptions& options) {
  return std::make_unique<OneChoiceChooser>(network, options);
}

absl::StatusOr<RouteResult> RouteOneChoice(const Network& network, const LinkLoad* standing,
                                           const std::vector<Request>& requests,
                                           const ProtocolOptions& options) {
  return RouteUnasked(OneChoiceChooser(network, options), network, standing, requests);
}

}  // namespace

const Protocol kOneChoice = {
    .name = "one_choice",
    .help = "a fair coin between the two random paths of a request, whatever the load",
    .defined_on = [](NetworkKind kind) { return kind == NetworkKind::kTwoFoldButterfly; },
    .make_chooser = MakeOneChoice,
    .route = RouteOneChoice,
};

}  // namespace bfly::control
