// SPDX-License-Identifier: Apache-2.0
// What `bfly describe` says about a network, as plain values: the fields of
// bfly.v1.DescribeResponse.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly {

// One hop's field of the tag: which hop reads it, at which stage, and which position of the row
// address its direction gives (1 is the leftmost).
struct TagBit {
  int hop = 0;
  int stage = 0;
  int position = 0;
};

// A path worked out in full.
struct ExamplePath {
  Row input = 0;
  Row output = 0;
  std::string tag;
  std::vector<Row> rows;
};

struct LinkEnds {
  LinkId link;
  Row next_row = 0;
  int direction = 0;
};

struct NetworkFacts {
  std::string kind;
  uint32_t rows = 0;
  int levels = 0;
  int stages = 0;
  uint64_t link_count = 0;  // free links (Network::is_free) included
  uint64_t seed = 0;
  int passes = 0;
  int dilation = 0;  // hops on every path, and the most links on a path
  int multiplicity = 1;
  std::string rule;  // empty where a direction has one port
  int extra_stages = 0;
  std::string parallel_edges;  // empty where there are no random splitters
  int tag_bits_per_hop = 1;
  std::vector<TagBit> tag;
  ExamplePath example;
};

NetworkFacts Describe(const Network& network);

// Returns how many of the network's links are free (Network::is_free). Without them the hypercube
// has d 2^d links (Stamoulis & Tsitsiklis, section 1.1).
uint64_t FreeLinkCount(const Network& network);

// Every link, in the order of its index.
std::vector<LinkEnds> AllLinks(const Network& network);

// The network as a Graphviz drawing, levels from left to right. InvalidArgument above kMaxDotRows
// rows: nobody can read a larger one.
inline constexpr uint32_t kMaxDotRows = 128;
absl::StatusOr<std::string> ToDot(const Network& network, absl::string_view name);

}  // namespace bfly
