// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/waves_theory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "topologies/expansion.h"
#include "topologies/expansion_theory.h"
#include "topologies/splitter.h"

namespace bfly::control {
namespace {

// The fewest neighbours of one input, and of two.
struct FewestOfTwo {
  size_t one = 0;
  size_t two = 0;
};

FewestOfTwo FewestOfPairs(const SplitterSide& side) {
  std::vector<std::vector<uint32_t>> neighbours, inputs_at(side.outputs());
  FewestOfTwo fewest{.one = side.outputs()};
  for (uint32_t input = 0; input < side.inputs; ++input) {
    neighbours.push_back(side.NeighboursOf(input));
    for (const uint32_t output : neighbours.back()) inputs_at[output].push_back(input);
    fewest.one = std::min(fewest.one, neighbours.back().size());
  }
  // Two inputs that share no output have as many neighbours as they have apart.
  fewest.two = 2 * fewest.one;
  std::vector<uint32_t> shared(side.inputs);
  for (uint32_t input = 0; input < side.inputs; ++input) {
    std::vector<uint32_t> others;
    for (const uint32_t output : neighbours[input]) {
      for (const uint32_t other : inputs_at[output]) {
        if (other > input && shared[other]++ == 0) others.push_back(other);
      }
    }
    for (const uint32_t other : others) {
      fewest.two =
          std::min(fewest.two, neighbours[input].size() + neighbours[other].size() - shared[other]);
      shared[other] = 0;
    }
  }
  return fewest;
}

// For sets of up to `packets` inputs.
double ExpansionOfSide(const SplitterSide& side, uint32_t packets) {
  const FewestOfTwo fewest = FewestOfPairs(side);
  double beta = static_cast<double>(fewest.one);
  if (packets >= 2) beta = std::min(beta, static_cast<double>(fewest.two) / 2);
  if (packets <= 2) return beta;
  const std::vector<uint32_t> neighbours =
      side.inputs <= kMaxExactInputs ? ExactFewestNeighbours(side)
                                     : CertifiedNeighbours(side, SecondSingularValueSquared(side));
  for (uint32_t k = 3; k <= packets; ++k) {
    // More inputs do not have fewer neighbours.
    const double at_least = std::max<double>(neighbours[k], static_cast<double>(fewest.two));
    beta = std::min(beta, at_least / k);
  }
  return beta;
}

}  // namespace

double WaveDelta(double beta) { return 2 * std::sqrt(beta) / (beta + 1); }

double WavePhases(int d, uint32_t waves, double beta) {
  if (beta <= 1) return std::numeric_limits<double>::infinity();
  const double levels = (d - 1) * std::log2(std::sqrt(beta));
  const double packets = std::log2(std::ceil(std::exp2(d) / waves));  // of the largest wave
  return std::floor((levels + packets) / -std::log2(WaveDelta(beta))) + 1;
}

double GrantedExpansion(int c, uint32_t waves) {
  const double alpha = 1.0 / (2.0 * waves);
  if (AlphaOfConcentrators(c, 1) < alpha) return 0;
  // Alpha falls with beta.
  double granted = 1, refused = c - 1;
  for (int i = 0; i < 60; ++i) {
    const double beta = (granted + refused) / 2;
    (AlphaOfConcentrators(c, beta) >= alpha ? granted : refused) = beta;
  }
  return granted > 1 ? granted : 0;
}

double CertainExpansion(const Network& network, uint32_t waves) {
  double beta = std::numeric_limits<double>::infinity();
  const auto packets_of = [&](uint32_t inputs) { return (inputs + 2 * waves - 1) / (2 * waves); };
  if (network.rows() > kMostCertifiedInputs && packets_of(network.rows()) > 2) return 0;
  for (int stage = 0; stage < network.stages(); ++stage) {
    const uint32_t inputs = network.rows() >> stage;
    if (inputs <= waves) break;
    for (uint32_t splitter = 0; splitter < uint32_t{1} << stage; ++splitter) {
      for (int direction = 0; direction < kDirections; ++direction) {
        const SplitterSide side = SideOf(network, stage, splitter, direction);
        beta = std::min(beta, ExpansionOfSide(side, packets_of(inputs)));
      }
    }
  }
  return beta;
}

}  // namespace bfly::control
