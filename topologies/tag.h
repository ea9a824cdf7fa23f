// SPDX-License-Identifier: Apache-2.0
// Tags: the routing bits a packet carries, one bit for each hop, first hop in the highest bit.
//
// A tag is a plain number. On a network of one port a direction it has network.hops() bits: on a
// butterfly it is the destination row; on BB_n it is the row at the middle level followed by the
// destination, d bits each. On a Benes network and on a hypercube the bits of the destination stand
// in reverse order. Where a direction has several ports each of these bits is followed by the port
// within the direction (topologies/tag_layout.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly {

// The port hop h leaves by.
inline int PortOfHop(const Network& network, Tag tag, int hop) {
  return network.tag_layout().port(tag, hop);
}

// Calls visit(link_index) for each link of the path from `input` that `tag` describes, first hop
// first.
template <typename Visit>
void ForEachLink(const Network& network, Row input, Tag tag, Visit&& visit) {
  const TagLayout layout = network.tag_layout();  // a copy: what `visit` writes can't change it
  Row row = input;
  for (int hop = 0; hop < layout.hops; ++hop) {
    const int stage = network.stage_of_hop(hop);
    const int port = layout.port(tag, hop);
    visit(network.link_index({stage, row, port}));
    row = network.next_row(stage, row, port);
  }
}

// Rows of the path from `input` that `tag` describes: network.hops() + 1 rows, input first.
// `input` must be a row of the network.
std::vector<Row> WalkTag(const Network& network, Row input, Tag tag);

// The low `dimension` bits of a row in reverse order.
constexpr Row ReverseRow(Row row, int dimension) {
  row = (row & 0x55555555) << 1 | ((row >> 1) & 0x55555555);
  row = (row & 0x33333333) << 2 | ((row >> 2) & 0x33333333);
  row = (row & 0x0f0f0f0f) << 4 | ((row >> 4) & 0x0f0f0f0f);
  return __builtin_bswap32(row) >> (32 - dimension);
}

// The directions of the last `dimension` hops of every path that ends at `output`, one bit each;
// the same as the tag by the first port of each, and back. They do not depend on the row a path
// starts from.
inline uint64_t LastDirectionsOf(const Network& network, Row output) {
  return network.ends_right_to_left() ? ReverseRow(output, network.dimension()) : output;
}
inline Tag LastBitsOf(const Network& network, Row output) {
  return network.tag_layout().Spread(LastDirectionsOf(network, output));
}
inline Row OutputOfTag(const Network& network, Tag tag) {
  const Row last = static_cast<Row>(network.tag_layout().Directions(tag)) & (network.rows() - 1);
  return network.ends_right_to_left() ? ReverseRow(last, network.dimension()) : last;
}

// On a network of two copies, where every direction has one port: the tag of the path to `output`
// that is in row `middle` between them.
inline Tag TagThrough(const Network& network, Row middle, Row output) {
  return Tag{middle} << network.dimension() | LastBitsOf(network, output);
}

// The tag of the path through `rows` (hops() + 1 rows). InvalidArgument names the first row that is
// none, or the first step that is no link of the network.
// Of several links between two rows the first is taken.
absl::StatusOr<Tag> TagOfPath(const Network& network, const std::vector<Row>& rows);
// The tag of the path from `input` by `ports`, one a hop. InvalidArgument names the first that is
// wrong.
absl::StatusOr<Tag> TagOfPorts(const Network& network, const std::vector<int>& ports);
// The ports of the path, one a hop.
std::vector<int> PortsOfTag(const Network& network, Tag tag);

// The tag of the greedy path input -> output: a network with one path takes it; one of
// two copies (two-fold, Benes, wrapped with two passes) goes straight through the first of them
// (THEORY.md 2.8, "Direct"). Of several ports of a direction it has the first.
Tag GreedyTag(const Network& network, Row input, Row output);

// "0110 1011": one group of bits a copy of the butterfly. Where a direction has several ports, one
// group a hop, the direction and then the port within it: "0.1 1.0 1.1 0.0".
std::string TagToString(const Network& network, Tag tag);

// In the data plane a tag is kept left-aligned and followed by a one bit: the next hop's direction
// is always the top bit, a hop shifts its field out, and the value kWireTagDone says that no hop is
// left. `bits` is tag_layout().bits().
using WireTag = uint64_t;
inline constexpr WireTag kWireTagDone = WireTag{1} << 63;
inline WireTag ToWire(Tag tag, int bits) { return ((tag << 1) | 1) << (63 - bits); }
inline Tag FromWire(WireTag tag, int bits) { return tag >> (64 - bits); }

}  // namespace bfly
