// SPDX-License-Identifier: Apache-2.0
// Tags of packets that cross the network twice, by an intermediate row (Valiant load balancing).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// Below the path to the intermediate row and the one bit behind it (topologies/tag.h) the tag of
// such a packet has another one bit and the last `dimension` fields of the path to its output.
class TagsByIntermediateRow {
 public:
  explicit TagsByIntermediateRow(const Network& network)
      : bits_(network.tag_layout().bits()),
        end_bits_(network.dimension() * network.tag_layout().field_bits) {}

  // Whether the tags of this network leave room for these bits.
  bool fit() const { return bits_ + end_bits_ + 2 <= 64; }
  // The tag of a packet that takes the path `circuit` and then goes to the output of `tag`.
  WireTag Join(WireTag circuit, WireTag tag) const {
    const uint64_t end = FromWire(tag, bits_) & ((uint64_t{1} << end_bits_) - 1);
    return circuit | uint64_t{1} << (62 - bits_) | end << (62 - bits_ - end_bits_);
  }
  // Whether the packet turns back after this crossing of the network. `bits` is how many bits of
  // hops in its tag the packet has not crossed yet.
  static bool TurnsBack(WireTag tag, int bits = 0) { return tag << bits != kWireTagDone; }
  // A tag that leads to the packet's output as far as its last `dimension` hops are concerned.
  WireTag Rest(WireTag tag) const { return ToWire(tag << 2 >> (64 - end_bits_), bits_); }

 private:
  int bits_;
  int end_bits_;
};

// INVALID_ARGUMENT says why no packet of this network can go by an intermediate row.
inline absl::Status CheckIntermediateRows(const Network& network) {
  if (network.hops() != network.stages()) {
    return absl::InvalidArgumentError(
        "late: frames cannot go by an intermediate row on a network that packets pass several "
        "times; use wait or drop");
  }
  if (TagsByIntermediateRow(network).fit()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("late: frames cannot go by an intermediate row, because a path of this network "
                   "takes ",
                   network.tag_layout().bits(),
                   " bits of the tag and leaves no room for a second output; use wait or drop"));
}

}  // namespace bfly::dataplane
