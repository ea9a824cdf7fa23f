// SPDX-License-Identifier: Apache-2.0
// Ranade's flip as a baseline on BB_n (THEORY.md 2.8): every switch of the first copy is set at
// random, each request follows the settings to the row in the middle, and the second copy leads it
// to its output. One path a request, whatever the load.
#include "control/protocols/protocols.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// F[level][row] of levels 0..d-1, by the protocol's seed: a switch with F = 0 joins straight to
// straight and cross to cross, with F = 1 straight to cross and cross to straight.
class FlipChooser : public PathChooser {
 public:
  explicit FlipChooser(uint64_t seed) : seed_(seed) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Network& network = load.network();
    const int d = network.dimension();
    Row row = input;
    bool cross = false;
    for (int level = 0; level < d; ++level) {
      const uint64_t node = (static_cast<uint64_t>(level) << d) + row;
      cross ^= (Random64(seed_, RandomStream::kFlip, node / 64) >> (node % 64)) & 1;
      if (cross) row ^= MaskOfPosition(level + 1, d);
    }
    return {input, output, TagThrough(network, row, output), PathChoice::kRandom};
  }

 private:
  const uint64_t seed_;
};

std::unique_ptr<PathChooser> MakeFlip(const Network&, const ProtocolOptions& options) {
  return std::make_unique<FlipChooser>(options.seed);
}

absl::StatusOr<RouteResult> RouteFlip(const Network& network, const LinkLoad* standing,
                                      const std::vector<Request>& requests,
                                      const ProtocolOptions& options) {
  return RouteUnasked(FlipChooser(options.seed), network, standing, requests);
}

}  // namespace

const Protocol kRanadeFlip = {
    .name = "ranade_flip",
    .help = "one path a request, through the first copy as random switches lead it",
    .defined_on = [](NetworkKind kind) { return kind == NetworkKind::kTwoFoldButterfly; },
    .make_chooser = MakeFlip,
    .route = RouteFlip,
};

}  // namespace bfly::control
