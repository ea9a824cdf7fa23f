// SPDX-License-Identifier: Apache-2.0
// Where packets go: the destination of packet `index` of an input row, as a pure function of the
// pattern, its seed, the row and the index. Patterns have BookSim's names and meanings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/network.h"
#include "topologies/permutation.h"
#include "topologies/random.h"

namespace bfly {

// What a pattern takes besides its name.
struct TrafficPatternSpec {
  // One of TrafficPatternNames():
  //   uniform      every row with the same probability, the origin too
  //   p-flip       every bit of the origin flipped independently with probability p (Stamoulis &
  //                Tsitsiklis, section 1.1)
  //   bitcomp, bitrev, transpose, shuffle, tornado, neighbor: PermutationByName of that name
  //   randperm     PermutationByName("random", rows, seed)
  //   hotspot      hotspots[i] with probability weights[i] / sum of weights
  //   permutation  `permutation`
  std::string name;
  double p = 0.5;                      // p-flip: 0..1, to a precision of 2^-32
  std::vector<Row> hotspots = {};      // hotspot: at least one
  std::vector<uint32_t> weights = {};  // hotspot: empty: 1 each; the last weight repeats
  Permutation permutation = {};        // permutation: an output for each row
  uint64_t seed = 0;
};

std::vector<std::string> TrafficPatternNames();

class TrafficPattern {
 public:
  // `rows` is a power of two, at least 2. InvalidArgument names the field: "hotspots[1]: 20 is
  // outside 0..15"; an unknown name lists those that exist.
  static absl::StatusOr<TrafficPattern> Make(const TrafficPatternSpec& spec, uint32_t rows);

  // The block of random words that was drawn last. Four neighbouring rows share a block, so a
  // caller that asks for packet i of one row after the other draws one block for four packets.
  struct Words {
    RowDraw draw{~uint64_t{0}, 0};
    PhiloxBlock block{};
  };

  Row Destination(Row source, uint64_t index, Words& words) const {
    switch (kind_) {
      case Kind::kTable:
        return table_[source];
      case Kind::kUniform:
        return Uniform(source, index, words);
      case Kind::kFlip:
        return source ^ Flips(source, index);
      case Kind::kHotspot:
        return Hotspot(source, index);
    }
    return source;
  }
  Row Destination(Row source, uint64_t index) const {
    Words words;
    return Destination(source, index, words);
  }

 private:
  enum class Kind : uint8_t { kTable, kUniform, kFlip, kHotspot };

  Row Uniform(Row source, uint64_t index, Words& words) const {
    const RowDraw draw = DrawOfRow(source / 4, index);
    if (draw != words.draw) {
      words.draw = draw;
      words.block = RandomBlock(seed_, RandomStream::kTraffic, draw.counter, draw.attempt);
    }
    return words.block[source % 4] >> (32 - dimension_);
  }
  Row Flips(Row source, uint64_t index) const;
  Row Hotspot(Row source, uint64_t index) const;

  Kind kind_ = Kind::kTable;
  int dimension_ = 0;
  uint64_t seed_ = 0;
  uint64_t threshold_ = 0;       // kFlip: p * 2^32; a word below it flips a bit
  std::vector<Row> table_;       // kTable: by source; kHotspot: the hot rows
  std::vector<uint32_t> up_to_;  // kHotspot: sums of the weights
};

}  // namespace bfly
