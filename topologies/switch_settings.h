// SPDX-License-Identifier: Apache-2.0
// The random switch settings of the two-fold butterfly BB_n and the two candidate paths of each
// request (Cole et al. 1998, section 2; THEORY.md 2.2).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {

// One fair bit F[level][row] for each node of the random levels: 0..h-1 on the left and d+h+1..2d
// on the right, h = floor(d / 2). n * d bits in all. A switch with F = 0 joins straight to straight
// and cross to cross, with F = 1 straight to cross and cross to straight.
class SwitchSettings {
 public:
  // The settings that the network's seed gives. FailedPrecondition: the network is not a BB_n.
  static absl::StatusOr<SwitchSettings> Make(const Network& network);
  // F = 0 everywhere.
  static absl::StatusOr<SwitchSettings> AllStraight(const Network& network);

  int dimension() const { return dimension_; }
  // h: candidate paths can collide in transitions h..d+h-1 only.
  int half() const { return half_; }
  bool is_random(int level) const { return level < half_ || level > dimension_ + half_; }

  // F[level][row]; `level` must be random.
  bool setting(int level, Row row) const {
    const uint64_t bit = (static_cast<uint64_t>(slot(level)) << dimension_) + row;
    return (bits_[bit / 64] >> (bit % 64)) & 1;
  }

 private:
  SwitchSettings(const Network& network);
  // Random levels are numbered 0..d-1 from left to right.
  int slot(int level) const { return level < half_ ? level : level - dimension_ - 1; }

  int dimension_;
  int half_;
  std::vector<uint64_t> bits_;
};

// The two random paths p and p' of every request. The left half of a path depends on its input
// alone and the right half on its output alone, so they are tables of 2 * rows entries each.
class CandidatePaths {
 public:
  explicit CandidatePaths(const SwitchSettings& settings);
  // The crew's workers share the tables' entries.
  CandidatePaths(const SwitchSettings& settings, Crew& crew);

  // The row at the middle level d of path `which` (0 is p, 1 is p'). The two paths have different
  // middle rows.
  Row middle(Row input, Row output, int which) const {
    return left_[2 * size_t{input} + which] | right_[2 * size_t{output} + which];
  }
  Tag tag(Row input, Row output, int which) const {
    return (Tag{middle(input, output, which)} << dimension_) | output;
  }
  // Returns {p, p'}.
  std::array<Tag, 2> tags(Row input, Row output) const {
    return {tag(input, output, 0), tag(input, output, 1)};
  }

  // Collision links are the links of hops first_collision_hop() .. first_collision_hop() + d - 1.
  // Two candidate paths of a permutation can share no other links.
  int first_collision_hop() const { return half_; }

 private:
  int dimension_;
  int half_;
  std::vector<Row> left_;   // [2 * input + which]: positions 1..h of the row at level h
  std::vector<Row> right_;  // [2 * output + which]: positions h+1..d of the row at level d + h
};

}  // namespace bfly
