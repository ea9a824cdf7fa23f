// SPDX-License-Identifier: Apache-2.0
// A protocol of one's own, the one of docs/protocol-tutorial.md: four random rows in the middle of
// the network are tried for each request, and the path whose fullest link is the least full wins.
#include "docs/examples/best_of_four.h"

#include "topologies/random.h"

namespace bfly::control {
namespace {

constexpr uint32_t kTries = 4;

class BestOfFourChooser : public PathChooser {
 public:
  explicit BestOfFourChooser(uint64_t seed) : seed_(seed) {}

  CircuitPath Choose(const LinkLoad& load, Row input, Row output) const override {
    const Network& network = load.network();
    Tag best = 0;
    uint32_t least = ~0u;
    for (uint32_t i = 0; i < kTries; ++i) {
      // Random numbers are pure functions of (seed, stream, counter): the same paths everywhere.
      const Row middle =
          RandomBelow(seed_, RandomStream::kValiant, uint64_t{kTries} * input + i, network.rows());
      const Tag tag = TagThrough(network, middle, output);
      const uint32_t most = load.MaxOnPath(input, tag);
      if (most >= least) continue;
      least = most;
      best = tag;
    }
    return {input, output, best, PathChoice::kRandom};
  }

 private:
  uint64_t seed_;
};

std::unique_ptr<PathChooser> MakeBestOfFour(const Network&, const ProtocolOptions& options) {
  return std::make_unique<BestOfFourChooser>(options.seed);
}

absl::StatusOr<RouteResult> RouteBestOfFour(const Network& network, const LinkLoad* standing,
                                            const std::vector<Request>& requests,
                                            const ProtocolOptions& options) {
  RouteResult result = RouteOneByOne(BestOfFourChooser(options.seed), network, standing, requests);
  // One request after the other; four probes forward, and back with what they found.
  result.rounds = static_cast<uint32_t>(requests.size());
  result.messages = 2 * kTries * uint64_t{requests.size()};
  result.passes_alone = 2;
  return result;
}

}  // namespace

const Protocol kBestOfFour = {
    .name = "best_of_four",
    .help = "four random rows in the middle a request, the one with the least full path is taken",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kTwoFoldButterfly || kind == NetworkKind::kBenes;
        },
    .make_chooser = MakeBestOfFour,
    .route = RouteBestOfFour,
};

}  // namespace bfly::control
