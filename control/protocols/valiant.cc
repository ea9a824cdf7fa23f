// SPDX-License-Identifier: Apache-2.0
// Valiant's baseline (THEORY.md 2.8): each request goes through a uniformly random row between the
// two copies, whatever the load.
#include "control/protocols/protocols.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

class ValiantChooser : public PathChooser {
 public:
  explicit ValiantChooser(uint64_t seed) : seed_(seed) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Row middle = RandomBelow(seed_, RandomStream::kValiant, input, load.network().rows());
    return {input, output, TagThrough(load.network(), middle, output), PathChoice::kRandom};
  }

 private:
  uint64_t seed_;
};

std::unique_ptr<PathChooser> MakeValiant(const Network&, const ProtocolOptions& options) {
  return std::make_unique<ValiantChooser>(options.seed);
}

absl::StatusOr<RouteResult> RouteValiant(const Network& network, const LinkLoad* standing,
                                         const std::vector<Request>& requests,
                                         const ProtocolOptions& options) {
  return RouteUnasked(ValiantChooser(options.seed), network, standing, requests);
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
