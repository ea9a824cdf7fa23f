// SPDX-License-Identifier: Apache-2.0
// Classes of packets under priority, and where a packet's word keeps its class.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "dataplane/virtual_clock/packet.h"
#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly::dataplane {

// The class of packet k of a row depends only on seed, row and k.
class ClassSource {
 public:
  // shares: as VirtualConfig::class_shares; empty: all packets are of class 0.
  ClassSource(uint64_t seed, const std::vector<double>& shares, Row rows)
      : seed_(seed), numbers_(shares.empty() ? 0 : rows) {
    double sum = 0;
    for (const double share : shares) ends_.push_back((sum += share) * 0x1p32);
  }

  // Draws the class of the row's next packet. Rows are independent: several workers may draw for
  // different rows at once.
  uint32_t Draw(Row row) {
    if (numbers_.empty()) return 0;
    const uint64_t counter = uint64_t{row} << 40 | numbers_[row]++;
    const double word = RandomBlock(seed_, RandomStream::kPriority, counter)[0];
    uint32_t drawn = 0;
    while (drawn + 1 < ends_.size() && word >= ends_[drawn]) ++drawn;
    return drawn;
  }

  size_t bytes() const { return numbers_.capacity() * sizeof(numbers_[0]); }

 private:
  uint64_t seed_;
  std::vector<double> ends_;       // upper end of each class's part of 0..2^32
  std::vector<uint64_t> numbers_;  // for each row: the number of its next packet
};

// A PacketWord with a class: routing bits from the top, the class below them, the birth below it.
struct WordLayout {
  int hops = 0;
  int class_bits = 0;

  static int BitsFor(size_t classes) {
    return classes <= 1 ? 0 : static_cast<int>(std::bit_width(classes - 1));
  }

  // Whether every birth before `end` can be told from the others.
  bool HasRoom(Ticks end) const { return end <= births(); }

  // Gives a class to a packet that has not crossed a link. The birth loses its upper class_bits
  // bits.
  PacketWord WithClass(PacketWord word, uint32_t priority) const {
    const PacketWord tag = word & ~(~PacketWord{0} >> hops);
    return tag | PacketWord{priority} << (64 - hops - class_bits) | (word & births());
  }

  // The birth of a packet that has crossed `crossed` links.
  Ticks BirthOf(PacketWord word, int crossed) const { return std::rotr(word, crossed) & births(); }
  uint32_t ClassOf(PacketWord word, int crossed) const {
    return static_cast<uint32_t>(std::rotr(word, crossed) << hops >> 1 >> (63 - class_bits));
  }

 private:
  PacketWord births() const { return ~PacketWord{0} >> (hops + class_bits); }
};

}  // namespace bfly::dataplane
