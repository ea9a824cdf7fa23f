// SPDX-License-Identifier: Apache-2.0
// Valiant's baseline (THEORY.md 2.8): each request goes through a uniformly random row between the
// two copies, whatever the load.
#include "control/protocols/protocols.h"
#include "control/protocols/random_middle.h"

namespace bfly::control {
namespace {

class ValiantChooser : public PathChooser {
 public:
  explicit ValiantChooser(const ProtocolOptions& options) : options_(options) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    return {input, output, TagThroughRandomMiddle(load.network(), options_, input, output),
            PathChoice::kRandom};
  }

 private:
  const ProtocolOptions options_;
};

std::unique_ptr<PathChooser> MakeValiant(const Network&, const ProtocolOptions& options) {
  return std::make_unique<ValiantChooser>(options);
}

absl::StatusOr<RouteResult> RouteValiant(const Network& network, const LinkLoad* standing,
                                         const std::vector<Request>& requests,
                                         const ProtocolOptions& options) {
  return RouteUnasked(ValiantChooser(options), network, standing, requests);
}

}  // namespace

const Protocol kValiant = {
    .name = "valiant",
    .help = "one path a request, through a uniformly random row between the two copies",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kTwoFoldButterfly || kind == NetworkKind::kBenes;
        },
    .make_chooser = MakeValiant,
    .route = RouteValiant,
};

}  // namespace bfly::control
