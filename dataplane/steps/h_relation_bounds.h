// SPDX-License-Identifier: Apache-2.0
// What Pietracaprina 1997 ("Deterministic routing of h-relations on the multibutterfly") says in
// numbers about a run of its algorithm (h_relation.h): powers of two, bounds on buffers, and what a
// stage costs in the bit model and in the word model.
#pragma once

#include <cstdint>
#include <vector>

namespace bfly::dataplane {

// The smallest power of two that is strictly greater than n: 0 -> 1, 1 -> 2, 4 -> 8. The weight W
// of n full buffers (section 3, Stage initialisation and Phase 2, step 2).
constexpr uint64_t Pow2Gt(uint64_t n) {
  uint64_t power = 1;
  while (power <= n) power *= 2;
  return power;
}

// h-bar of section 3, the smallest power of two greater than 4 d h / (R - 4), where h stands for
// max(h, R) so that no batch is smaller than one message. R > 4.
uint64_t PaperHBar(int d, uint32_t h, int r);

// Bounds W at every level for any wiring in which every output of a splitter has 2 d links.
//
// Entry 0 is Pow2Gt(h). A node of level c + 1 gets at most ceil(W / r) buffers over each of its 2 d
// links from inputs with W <= h (a power of two; h stands for max(h, R) again), and for each larger
// weight W at most one batch of ceil(W / r): all inputs that ask for the batch begin in the same
// stage, and the set of inputs that ask only shrinks, so an input that asks alone is the only input
// that asked there. r_of_level[c] is the fewest neighbours that an input of level c divides a batch
// among, R or fewer where there are parallel edges. If all of them are R > 4, no entry exceeds
// PaperHBar (Lemma 3). Entries stop growing at 2^40.
std::vector<uint64_t> WeightBounds(int d, uint32_t h, int r, const std::vector<int>& r_of_level);

// Largest number of stages by the proof of Theorem 2: the maximum over i of
// i + 1 + log(N / 2^i) / log(1 / rho), plus log N. 0 <= rho < 1.
double StagesOfTheorem2(int log_rows, double rho);

// How much time the algorithm takes. `batch` is the largest number of messages that cross one link,
// either the bound ceil(h-bar / r) or the measured number.
struct HRelationCharge {
  int log_rows = 0;
  uint64_t h_bar = 1;
  uint64_t batch = 1;
  int iterations = 1;         // Z
  int rounds = 1;             // Y
  uint32_t message_bits = 1;  // X

  // Bits over one link in one stage: Z requests of ceil(log h-bar) bits with an answer and a
  // cancellation of one bit each, one number of ceil(log h-bar) bits, and Y times two bits of each
  // message (proof of Theorem 1).
  uint64_t BitsOfStage() const;
  // All bit steps: the stages until the first bit of every message has arrived, and then two bits
  // of each message at a time until X bits have arrived.
  uint64_t BitTime(uint64_t stages) const;
  // All word steps in words of log N bits: the bits of a stage packed into words, and
  // batch * ceil(X / log N) words of the messages themselves.
  uint64_t WordTime(uint64_t stages) const;
};

}  // namespace bfly::dataplane
