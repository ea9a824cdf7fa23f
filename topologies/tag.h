// SPDX-License-Identifier: Apache-2.0
// Tags: the routing bits a packet carries, one bit for each hop, first hop in the highest bit.
//
// A tag is a plain number of network.hops() bits. On a butterfly it is the destination row; on BB_n
// it is the row at the middle level followed by the destination, d bits each. On a
// Benes network and on a hypercube the bits of the destination stand in reverse order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly {

using Tag = uint64_t;

inline constexpr int kMaxHops = 62;

// The port hop h leaves by.
inline int PortOfHop(Tag tag, int hop, int hops) { return (tag >> (hops - 1 - hop)) & 1; }

// Calls visit(link_index) for each link of the path from `input` that `tag` describes, first hop
// first.
template <typename Visit>
void ForEachLink(const Network& network, Row input, Tag tag, Visit&& visit) {
  const int hops = network.hops();
  Row row = input;
  for (int hop = 0; hop < hops; ++hop) {
    const int stage = network.stage_of_hop(hop);
    const int port = PortOfHop(tag, hop, hops);
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

// The last `dimension` bits of every tag that ends at `output`, and back. They do not depend on the
// row a path starts from.
inline Tag LastBitsOf(const Network& network, Row output) {
  return network.ends_right_to_left() ? ReverseRow(output, network.dimension()) : output;
}
inline Row OutputOfTag(const Network& network, Tag tag) {
  const Row last = static_cast<Row>(tag) & (network.rows() - 1);
  return network.ends_right_to_left() ? ReverseRow(last, network.dimension()) : last;
}

// On a network of two copies: the tag of the path to `output` that is in row `middle` between them.
inline Tag TagThrough(const Network& network, Row middle, Row output) {
  return Tag{middle} << network.dimension() | LastBitsOf(network, output);
}

// The tag of the path through `rows` (hops() + 1 rows). InvalidArgument names the first row that is
// none, or the first step that is no link of the network.
absl::StatusOr<Tag> TagOfPath(const Network& network, const std::vector<Row>& rows);

// The tag of the greedy path input -> output: a network with one path takes it; one of
// two copies (two-fold, Benes, wrapped with two passes) goes straight through the first of them
// (THEORY.md 2.8, "Direct").
Tag GreedyTag(const Network& network, Row input, Row output);

// "0110 1011": one group of bits a copy of the butterfly.
std::string TagToString(const Network& network, Tag tag);

// In the data plane a tag is kept left-aligned and followed by a one bit: the next hop's bit is
// always the top bit, a hop shifts it out, and the value kWireTagDone says that no hop is left.
using WireTag = uint64_t;
inline constexpr WireTag kWireTagDone = WireTag{1} << 63;
inline WireTag ToWire(Tag tag, int hops) { return ((tag << 1) | 1) << (63 - hops); }

}  // namespace bfly
