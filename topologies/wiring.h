// SPDX-License-Identifier: Apache-2.0
// The wiring of every kind of network, stage by stage; one source file a kind. Network::Make calls
// these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bfly {

using Row = uint32_t;

// How one stage is wired. `mask` has exactly one bit, the bit of the head's row address that the
// direction sets: direction b leads to a row with b there. Without a table the other bits stay as
// they are. With a table, table[row * ports + port] is the head's row.
struct StageWiring {
  uint32_t mask = 0;
  std::vector<Row> table;
};

// Returns the bit of a row at `position`, 1 (leftmost) .. dimension.
constexpr uint32_t MaskOfPosition(int position, int dimension) {
  return 1u << (dimension - position);
}

// B_n, n = 2^dimension: transition i -> i+1 sets position i+1 (Cole et al. 1998, section 1).
std::vector<StageWiring> ButterflyWiring(int dimension);

// A butterfly with r extra stages: the extra transitions repeat the first r, so transition k of
// d + r sets position (k mod d) + 1 (Upfal, Felperin, Snir; THEORY.md 4.1).
std::vector<StageWiring> ExtraStagesWiring(int dimension, int extra_stages);

// BB_n: two copies of B_n in series, not mirrored (section 2).
std::vector<StageWiring> TwoFoldButterflyWiring(int dimension);

// d-cube, dimensions crossed in increasing index order, index 1 = least significant bit (Stamoulis
// & Tsitsiklis, section 1.1).
std::vector<StageWiring> HypercubeWiring(int dimension);

// Two copies of B_n back to back, the second one mirrored: transition i -> i+1 sets position i+1
// for i < d and 2d - i for i >= d (section 1).
std::vector<StageWiring> BenesWiring(int dimension);

// RB_n: B_n, except that the cross link of <w_1..w_d, 0> leads to the row whose first position is
// flipped and whose others are sigma_{w_1}(w_2..w_d); sigma_0, sigma_1 are independent random
// permutations (section 1).
std::vector<StageWiring> RandomlyWiredButterflyWiring(int dimension, uint64_t seed);

// What becomes of parallel edges of a random splitter: several edges of one input to one output.
enum class ParallelEdges {
  kKeep,   // the permutations stay as they are drawn
  kAvoid,  // inputs exchange outputs until no splitter has more parallel edges than its size forces
};

// The (n, c)-multibutterfly, c = `multiplicity` (Pietracaprina 1997, section 2; Diebold 2008,
// section 2). Transition s -> s+1 consists of 2^s splitters of m = n / 2^s consecutive rows each.
// Edge k of input i to a side's m/2 outputs leads to output pi(i) mod m/2; pi is a random
// permutation of 0..m-1 of that splitter, side and k.
//
// With kAvoid the first m/2 edges of an input to a side lead to different outputs, and so do the
// next m/2. Every output keeps its 2c edges.
std::vector<StageWiring> MultibutterflyWiring(int dimension, int multiplicity, ParallelEdges edges,
                                              uint64_t seed);

}  // namespace bfly
