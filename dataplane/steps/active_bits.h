// SPDX-License-Identifier: Apache-2.0
// Which nodes of a block of rows are active, a bit for each node and kind of activity.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/wiring.h"

namespace bfly::dataplane {

// kKinds: the kinds of activity, 1..kKinds.
template <size_t kKinds>
class ActiveBits {
 public:
  // Covers the rows first..end-1 of `levels` levels. No node is active.
  ActiveBits(int levels, Row first, Row end)
      : first_(first / 64 * 64), words_((end - first_ + 63) / 64) {
    bits_.resize(static_cast<size_t>(levels) * words_ * kKinds);
  }

  // Kind 0 means not active.
  void Set(int level, Row row, size_t kind) {
    uint64_t* bits = Word(level, (row - first_) / 64);
    const uint64_t bit = uint64_t{1} << row % 64;
    for (size_t k = 0; k < kKinds; ++k) {
      bits[k] = (bits[k] & ~bit) | (kind == k + 1 ? bit : 0);
    }
  }
  void Clear() { std::fill(bits_.begin(), bits_.end(), 0); }

  bool Any(int level) const {
    const uint64_t* bits = Word(level, 0);
    return std::any_of(bits, bits + words_ * kKinds, [](uint64_t word) { return word != 0; });
  }
  uint64_t Count(int level) const {
    uint64_t count = 0;
    const uint64_t* bits = Word(level, 0);
    for (size_t i = 0; i < words_ * kKinds; ++i) {
      count += static_cast<uint64_t>(std::popcount(bits[i]));
    }
    return count;
  }

  // Calls act(row) for nodes of a level in the order of rows. choose(row, bits) returns for which
  // of 64 nodes: `row`, a multiple of 64, is the row of the first of the 64, and `bits` has a word
  // for each kind with a bit for each active node. act may set nodes.
  template <typename Choose, typename Act>
  void ForEach(int level, Choose&& choose, Act&& act) const {
    for (size_t word = 0; word < words_; ++word) {
      const uint64_t* bits = Word(level, word);
      uint64_t any = 0;
      for (size_t k = 0; k < kKinds; ++k) any |= bits[k];
      if (any == 0) continue;
      const Row row = first_ + static_cast<Row>(word * 64);
      for (uint64_t chosen = choose(row, bits); chosen != 0; chosen &= chosen - 1) {
        act(row + static_cast<Row>(std::countr_zero(chosen)));
      }
    }
  }

  // A `choose` of ForEach that returns all active nodes.
  static uint64_t AllKinds(Row, const uint64_t* bits) {
    uint64_t any = 0;
    for (size_t k = 0; k < kKinds; ++k) any |= bits[k];
    return any;
  }

 private:
  const uint64_t* Word(int level, size_t word) const {
    return bits_.data() + (static_cast<size_t>(level) * words_ + word) * kKinds;
  }
  uint64_t* Word(int level, size_t word) {
    return bits_.data() + (static_cast<size_t>(level) * words_ + word) * kKinds;
  }

  Row first_;  // the first row of word 0; blocks beside each other may both have a word for these
               // rows
  size_t words_;                // words of 64 rows in each level
  std::vector<uint64_t> bits_;  // one word for each level, word of rows and kind
};

}  // namespace bfly::dataplane
