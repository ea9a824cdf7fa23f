// SPDX-License-Identifier: Apache-2.0
// Tags: the routing bits that a packet carries. Each hop has one bit, and the first hop has the
// highest.
//
// A tag is a plain number. On a network with one port a direction a tag has network.hops() bits. On
// a butterfly it is the destination row. On BB_n it is the row at the middle level followed by the
// destination, d bits each. On a Benes network and on a hypercube the bits of the destination stand
// in reverse order. On a butterfly with r extra stages a tag begins with r more bits, and the
// address of the destination behind them is rotated to the left by r mod d. If a direction has
// several ports, the port within the direction follows each of these bits
// (topologies/tag_layout.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly {

// The port by which hop h leaves.
inline int PortOfHop(const Network& network, Tag tag, int hop) {
  return network.tag_layout().port(tag, hop);
}

// Calls visit(link_index) for each link of the path from `input` that `tag` describes, beginning
// with the first hop.
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

// Returns the network.hops() + 1 rows of the path from `input` that `tag` describes. `input` must
// be a row of the network and comes first.
std::vector<Row> WalkTag(const Network& network, Row input, Tag tag);

// The low `dimension` bits of a row in reverse order.
constexpr Row ReverseRow(Row row, int dimension) {
  row = (row & 0x55555555) << 1 | ((row >> 1) & 0x55555555);
  row = (row & 0x33333333) << 2 | ((row >> 2) & 0x33333333);
  row = (row & 0x0f0f0f0f) << 4 | ((row >> 4) & 0x0f0f0f0f);
  return __builtin_bswap32(row) >> (32 - dimension);
}

// The low `dimension` bits of a row, rotated to the left by `turn` places, 0 <= turn < dimension.
constexpr Row TurnRow(Row row, int turn, int dimension) {
  return (row << turn | row >> (dimension - turn)) & ((Row{1} << dimension) - 1);
}

// The directions of the last `dimension` hops of every path that ends at `output`, one bit each.
// They do not depend on the row where a path starts.
inline uint64_t LastDirectionsOf(const Network& network, Row output) {
  if (network.ends_left_to_right()) return output;
  const int d = network.dimension();
  if (network.ends_right_to_left()) return ReverseRow(output, d);
  return TurnRow(output, network.last_hops_turn(), d);
}

// How the directions of the last `dimension` hops of a path, read as a row, stand to its output.
struct LastHops {
  int dimension = 0;
  bool reversed = false;  // the first of them is the row's lowest bit
  int turn = 0;           // otherwise they are the row, rotated to the left by this many places

  constexpr Row OutputOf(Row directions) const {
    if (reversed) return ReverseRow(directions, dimension);
    return turn == 0 ? directions : TurnRow(directions, dimension - turn, dimension);
  }
};
inline LastHops LastHopsOf(const Network& network) {
  return {.dimension = network.dimension(),
          .reversed = network.ends_right_to_left(),
          .turn = network.last_hops_turn()};
}

inline Tag LastBitsOf(const Network& network, Row output) {
  return network.tag_layout().Spread(LastDirectionsOf(network, output));
}
inline Row OutputOfTag(const Network& network, Tag tag) {
  const Row last = static_cast<Row>(network.tag_layout().Directions(tag)) & (network.rows() - 1);
  return LastHopsOf(network).OutputOf(last);
}

// The tag of the path to `output` that is in row `middle` between the two copies. Every direction
// of the network must have one port.
inline Tag TagThrough(const Network& network, Row middle, Row output) {
  return Tag{middle} << network.dimension() | LastBitsOf(network, output);
}

// The tag of the path through `rows`, which has hops() + 1 rows. Of several links between two rows
// the path takes the first. InvalidArgument names the first row that does not exist, or the first
// step that is not a link of the network.
absl::StatusOr<Tag> TagOfPath(const Network& network, const std::vector<Row>& rows);
// The tag of the path that leaves by `ports`, one a hop. InvalidArgument names the first wrong
// port.
absl::StatusOr<Tag> TagOfPorts(const Network& network, const std::vector<int>& ports);
// The ports of the path, one a hop.
std::vector<int> PortsOfTag(const Network& network, Tag tag);

// The tag of the greedy path from input to output. A network with one path takes that path. A
// network of two copies (two-fold, Benes, wrapped with two passes) goes straight through the first
// copy (THEORY.md 2.8, "Direct"), and a network with extra stages goes straight through these. The
// path takes the first port of each direction.
Tag GreedyTag(const Network& network, Row input, Row output);

// "0110 1011": one group of bits for each copy of the butterfly, behind a group for extra stages.
// If a direction has several ports, there is a group for each hop, with the direction and the port
// within it: "0.1 1.0 1.1 0.0".
std::string TagToString(const Network& network, Tag tag);

// In the data plane a tag is left-aligned and followed by a one bit. So the next hop's direction is
// always the top bit, a hop shifts its field out, and the value kWireTagDone says that no hop is
// left. `bits` is tag_layout().bits().
using WireTag = uint64_t;
inline constexpr WireTag kWireTagDone = WireTag{1} << 63;
inline WireTag ToWire(Tag tag, int bits) { return ((tag << 1) | 1) << (63 - bits); }
inline Tag FromWire(WireTag tag, int bits) { return tag >> (64 - bits); }

}  // namespace bfly
