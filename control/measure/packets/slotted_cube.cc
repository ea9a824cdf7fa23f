// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/slotted_cube.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "control/measure/packets/poisson.h"

namespace bfly::control {
namespace {

// The number of packets at a link of dimension 1 and at the link of dimension 2 behind it, just
// after the arrivals of a slot, as probabilities of (first, second). All other packets of the
// second link are born at its own node, so the two streams are independent.
class Chain {
 public:
  Chain(double rho, double p)
      : rho_(rho),
        p_(p),
        first_arrivals_(PoissonProbabilities(rho)),
        second_arrivals_(p < 1 ? PoissonProbabilities(rho * (1 - p)) : std::vector<double>{1}),
        // The tail of M/D/1 falls by about exp(-2 (1 - rho) / rho) a packet. It is cut at 1e-14.
        states_(static_cast<size_t>(20 + std::ceil(16 * rho / (1 - rho) + 16))),
        now_(states_ * states_, 0.0),
        moved_(states_ * states_),
        next_(states_ * states_) {
    now_[0] = 1;
  }

  // The mean number of packets at both links in the stationary state.
  double MeanPackets() {
    double mean = 0;
    for (int slot = 0; slot < 1'000'000; ++slot) {
      Serve();
      Arrive();
      const double next_mean = Mean();
      // The mean rises geometrically to its limit; see MeanDelayMDc.
      if (slot > 10 && std::abs(next_mean - mean) < 1e-9 * next_mean * (1 - rho_) * (1 - rho_)) {
        return next_mean;
      }
      mean = next_mean;
    }
    return mean;
  }

 private:
  double& At(std::vector<double>& of, size_t first, size_t second) {
    return of[first * states_ + second];
  }

  // Each link that has a packet sends one. A packet of the first link goes on to the second with
  // probability p.
  void Serve() {
    std::fill(moved_.begin(), moved_.end(), 0.0);
    for (size_t first = 0; first < states_; ++first) {
      for (size_t second = 0; second < states_; ++second) {
        const double probability = At(now_, first, second);
        const size_t left = second > 0 ? second - 1 : 0;
        if (first == 0) {
          At(moved_, 0, left) += probability;
          continue;
        }
        At(moved_, first - 1, left) += probability * (1 - p_);
        At(moved_, first - 1, std::min(left + 1, states_ - 1)) += probability * p_;
      }
    }
  }

  void Arrive() {
    std::fill(now_.begin(), now_.end(), 0.0);
    std::fill(next_.begin(), next_.end(), 0.0);
    for (size_t first = 0; first < states_; ++first) {
      const double* const from = &At(moved_, first, 0);
      if (IsNothing(from)) continue;
      for (size_t k = 0; k < first_arrivals_.size() && first + k < states_; ++k) {
        double* const to = &At(next_, first + k, 0);
        for (size_t second = 0; second < states_; ++second) {
          to[second] += from[second] * first_arrivals_[k];
        }
      }
    }
    for (size_t first = 0; first < states_; ++first) {
      const double* const from = &At(next_, first, 0);
      if (IsNothing(from)) continue;
      double* const to = &At(now_, first, 0);
      for (size_t k = 0; k < second_arrivals_.size(); ++k) {
        for (size_t second = 0; second + k < states_; ++second) {
          to[second + k] += from[second] * second_arrivals_[k];
        }
      }
    }
  }

  // True if the row of the chain has no probability that matters.
  bool IsNothing(const double* row) const { return *std::max_element(row, row + states_) < 1e-18; }

  double Mean() {
    double mean = 0;
    for (size_t first = 0; first < states_; ++first) {
      for (size_t second = 0; second < states_; ++second) {
        mean += static_cast<double>(first + second) * At(now_, first, second);
      }
    }
    return mean;
  }

  const double rho_, p_;
  const std::vector<double> first_arrivals_, second_arrivals_;
  const size_t states_;
  std::vector<double> now_, moved_, next_;
};

}  // namespace

double SlottedDelayOfTwoDimensions(double rho, double p) {
  const double lambda = rho / p;
  return Chain(rho, p).MeanPackets() / lambda;
}

}  // namespace bfly::control
