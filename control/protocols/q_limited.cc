// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/q_limited.h"

#include <algorithm>
#include <numeric>

#include "control/protocols/protocols.h"
#include "control/protocols/random_middle.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

// P(Bin(n, 1/2) = k).
double HalfBinomial(uint32_t n, uint32_t k) {
  double p = 1;
  for (uint32_t i = 0; i < n; ++i) p /= 2;
  for (uint32_t i = 0; i < k; ++i) p = p * (n - i) / (i + 1);
  return p;
}

// On B_n every request has one path (Kruskal-Snir, Koch). On BB_n its path goes through a uniformly
// random row between the copies, which serves any permutation (Maggs-Sitaraman).
absl::StatusOr<RouteResult> RouteQLimited(const Network& network, const LinkLoad* standing,
                                          const std::vector<Request>& requests,
                                          const ProtocolOptions& options) {
  std::vector<CircuitPath> wanted;
  wanted.reserve(requests.size());
  for (const auto& [input, output] : requests) {
    if (network.two_copies()) {
      wanted.push_back({input, output, TagThroughRandomMiddle(network, options, input, output),
                        PathChoice::kRandom});
    } else {
      wanted.push_back({input, output, GreedyTag(network, input, output), PathChoice::kGreedy});
    }
  }
  const uint32_t q = options.q != 0 ? options.q : 1;
  const std::vector<bool> locked =
      LockDown(network, standing, wanted, q, options.seed, options.faults);
  RouteResult result;
  result.rounds = 1;
  result.messages = requests.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (locked[i]) {
      result.paths.push_back(wanted[i]);
    } else {
      result.requests_left.push_back(static_cast<uint32_t>(i));
      result.lost_to_full_links += options.IsWhole(wanted[i].input, wanted[i].tag);
    }
  }
  result.left_per_round = {static_cast<uint32_t>(result.requests_left.size())};
  MeasureCongestion(network, standing, result);
  return result;
}

}  // namespace

std::vector<bool> LockDown(const Network& network, const LinkLoad* standing,
                           const std::vector<CircuitPath>& paths, uint32_t q, uint64_t seed,
                           const FaultSet* faults) {
  const TagLayout layout = network.tag_layout();
  std::vector<uint32_t> alive(paths.size());
  std::iota(alive.begin(), alive.end(), 0u);
  if (faults != nullptr) {
    std::erase_if(alive,
                  [&](uint32_t i) { return !faults->IsWhole(paths[i].input, paths[i].tag); });
  }
  std::vector<Row> row(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) row[i] = paths[i].input;
  std::vector<uint32_t> taken(network.ports() * size_t{network.rows()});
  std::vector<uint32_t> winners;
  for (int stage = 0; stage < layout.hops; ++stage) {
    if (standing == nullptr) {
      std::fill(taken.begin(), taken.end(), 0u);
    } else {
      taken = standing->stage_counts(stage);
    }
    // The first q requests of a uniformly random order are a uniformly random choice of q requests.
    winners.clear();
    for (const uint32_t k :
         RandomPermutation(seed, RandomStream::kLinkWinners, static_cast<uint32_t>(alive.size()),
                           static_cast<uint64_t>(stage) << 32)) {
      const uint32_t path = alive[k];
      const int port = layout.port(paths[path].tag, stage);
      uint32_t& places = taken[network.ports() * size_t{row[path]} + port];
      if (places >= q) continue;
      ++places;
      row[path] = network.next_row(stage, row[path], port);
      winners.push_back(path);
    }
    alive.swap(winners);
  }
  std::vector<bool> locked(paths.size());
  for (const uint32_t path : alive) locked[path] = true;
  return locked;
}

double ExpectedLockedFraction(int dimension, uint32_t q) {
  // x[k] = P(k requests cross a link of the stage). The two links into a node carry requests from
  // disjoint halves of the network, so their numbers are independent. Each request goes on either
  // way with probability 1/2.
  std::vector<double> x(q + 1);
  x[0] = x[1] = 0.5;
  for (int stage = 1; stage < dimension; ++stage) {
    std::vector<double> next(q + 1);
    for (uint32_t a = 0; a <= q; ++a) {
      for (uint32_t b = 0; b <= q; ++b) {
        for (uint32_t k = 0; k <= a + b; ++k) {
          next[std::min(k, q)] += x[a] * x[b] * HalfBinomial(a + b, k);
        }
      }
    }
    x = next;
  }
  double mean = 0;
  for (uint32_t k = 0; k <= q; ++k) mean += k * x[k];
  return 2 * mean;
}

uint32_t LockDownUniform(const Network& network, uint32_t q, uint64_t seed) {
  std::vector<CircuitPath> paths(network.rows());
  for (Row input = 0; input < network.rows(); ++input) {
    const Row output = RandomBelow(seed, RandomStream::kDestinations, input, network.rows());
    paths[input] = {input, output, GreedyTag(network, input, output), PathChoice::kGreedy};
  }
  const std::vector<bool> locked = LockDown(network, nullptr, paths, q, seed);
  return static_cast<uint32_t>(std::count(locked.begin(), locked.end(), true));
}

const Protocol kQLimited = {
    .name = "q_limited",
    .help = "links carry at most q circuits; requests that find one full are lost (q: 1)",
    .defined_on =
        [](NetworkKind kind) {
          return kind == NetworkKind::kButterfly || kind == NetworkKind::kTwoFoldButterfly;
        },
    .make_chooser = nullptr,
    .route = RouteQLimited,
    .takes_q = true,
};

}  // namespace bfly::control
