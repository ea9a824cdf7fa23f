// SPDX-License-Identifier: Apache-2.0
// A multistage network as a value: levels of rows, and for every (stage, row, port) the next row.
//
// Conventions, the same for every kind:
//  * node levels are 0-based; stage s is the nodes of level s and the links from level s to level
//    s+1;
//  * address position 1 is the LEFTMOST bit of a row (Cole et al. 1998, section 1), so a butterfly
//    consumes a destination most significant bit first;
//  * direction b of a node at stage s is the links whose heads have bit b at the position stage s
//    touches. A tag is therefore the sequence of destination bits, and does not depend on the row
//    it starts from. A link is *straight* if next_row == row and *cross* otherwise;
//  * the `multiplicity` ports of a direction are numbered consecutively: port p serves direction
//    p / multiplicity. If multiplicity is 1, ports and directions are the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topologies/port_rule.h"
#include "topologies/tag_layout.h"
#include "topologies/wiring.h"

namespace bfly {

enum class NetworkKind {
  kButterfly,         // B_n: log n stages
  kWrappedButterfly,  // B_n with level log n identified with level 0; traversed `passes` times
  kTwoFoldButterfly,  // BB_n: two copies of B_n in series, 2 log n stages
  kHypercube,  // d-cube: stage s is dimension s+1, least significant first; staying takes no time
  kRandomlyWiredButterfly,  // RB_n: B_n with random cross links in its first stage
  kBenes,                   // two copies of B_n, the second one mirrored, 2 log n stages
  kDilatedButterfly,        // B_n with `multiplicity` parallel links in place of each link
  kMultibutterfly,          // random splitters with `multiplicity` links a direction, log n stages
};

// "keep", "avoid".
absl::string_view ParallelEdgesName(ParallelEdges edges);
absl::StatusOr<ParallelEdges> ParallelEdgesFromName(absl::string_view name);

// The name used in topology files, on the command line and in JSON, such as "two_fold_butterfly".
absl::string_view KindName(NetworkKind kind);
absl::StatusOr<NetworkKind> KindFromName(absl::string_view name);
std::vector<NetworkKind> AllKinds();

// What determines a network: the same spec gives the same wiring on every machine and compiler.
struct NetworkSpec {
  NetworkKind kind = NetworkKind::kButterfly;
  uint32_t rows = 0;  // a power of two, kMinRows..kMaxRows
  uint64_t seed = 0;  // gives the random switch settings and the random wiring
  int passes = 1;     // how often a packet goes round, 1..2; above 1 only on a wrapped butterfly
  // Ports of a direction. Only a dilated butterfly, 1..kMaxDilation, and a multibutterfly,
  // 1..kMaxMultiplicity and at most half as many as rows, have more than one.
  int multiplicity = 1;
  // Given only if a direction has several ports; kDefaultRule if left out.
  std::optional<PortRule> rule = {};
  // Butterfly only: how many of the first stages are repeated, 0..kMaxExtraStages.
  int extra_stages = 0;
  // Multibutterfly only; kKeep if left out.
  std::optional<ParallelEdges> parallel_edges = {};
};

inline constexpr uint32_t kMinRows = 2;
inline constexpr uint32_t kMaxRows = 1u << 20;
inline constexpr int kMaxMultiplicity = 16;
inline constexpr int kMaxDilation = 8;
inline constexpr int kMaxExtraStages = 20;
// Links of a network whose stages are all wired by tables. Such a link takes 8 bytes.
inline constexpr uint64_t kMaxTableLinks = uint64_t{1} << 24;
inline constexpr ParallelEdges kDefaultEdges = ParallelEdges::kKeep;
inline constexpr int kDirections = 2;  // of every node: the values of one routing bit

// A link leaves node (stage, row) by `port`.
struct LinkId {
  int stage = 0;
  Row row = 0;
  int port = 0;
  friend bool operator==(const LinkId&, const LinkId&) = default;
};

class Network {
 public:
  // InvalidArgument names the field that is wrong, its value and the allowed range.
  static absl::StatusOr<Network> Make(const NetworkSpec& spec);

  const NetworkSpec& spec() const { return spec_; }
  NetworkKind kind() const { return spec_.kind; }
  uint32_t rows() const { return spec_.rows; }
  int dimension() const { return dimension_; }                      // log2(rows)
  int multiplicity() const { return layout_.multiplicity; }         // ports of a direction
  int ports() const { return kDirections * layout_.multiplicity; }  // outgoing links of a node
  int direction_of(int port) const { return port >= layout_.multiplicity; }
  // How a node picks one of the ports of a direction for a packet whose path does not say which.
  PortRule rule() const { return spec_.rule.value_or(kDefaultRule); }
  int stages() const { return static_cast<int>(wiring_.size()); }
  // Node levels: stages + 1, or stages where the last level is the first (wrapped).
  int levels() const { return wrapped() ? stages() : stages() + 1; }
  // Whether a packet that keeps its row crosses the stage in no time. A stage of the hypercube is
  // one dimension, and only packets whose bit of that dimension changes use a link (Stamoulis &
  // Tsitsiklis, section 1.1).
  bool straight_is_free() const { return spec_.kind == NetworkKind::kHypercube; }
  // Whether the link stands for no link of the hypercube: it carries what keeps its row. Circuits
  // pass it, but it does not count for the congestion, and it has room for any number of them.
  bool is_free(LinkId link) const {
    return straight_is_free() && next_row(link.stage, link.row, link.port) == link.row;
  }
  bool wrapped() const { return spec_.kind == NetworkKind::kWrappedButterfly; }
  // Links on every path, which is the dilation.
  int hops() const { return stages() * (wrapped() ? spec_.passes : 1); }
  // Where a tag has the fields of the hops.
  const TagLayout& tag_layout() const { return layout_; }
  // Whether every path runs through two copies of B_n, so that any row can be its middle.
  bool two_copies() const { return hops() == 2 * dimension_; }
  // The first hops of every path, in which a packet may go either way: those of extra stages.
  int extra_hops() const { return spec_.extra_stages; }
  // Whether the last d hops set the positions from right to left.
  bool ends_right_to_left() const {
    return spec_.kind == NetworkKind::kBenes || spec_.kind == NetworkKind::kHypercube;
  }
  // The last d hops set positions t+1, ..., d, 1, ..., t; t is 0 unless there are extra stages.
  int last_hops_turn() const { return spec_.extra_stages % dimension_; }
  // Whether the directions of the last d hops are the output's address.
  bool ends_left_to_right() const { return !ends_right_to_left() && last_hops_turn() == 0; }
  ParallelEdges parallel_edges() const { return spec_.parallel_edges.value_or(kDefaultEdges); }
  // The stage crossed by hop h, 0 <= h < hops().
  int stage_of_hop(int hop) const { return hop % stages(); }

  const StageWiring& wiring(int stage) const { return wiring_[stage]; }
  // The position of the row address that the port chosen at `stage` sets; 1 is the leftmost.
  int position_of_stage(int stage) const;

  Row next_row(int stage, Row row, int port) const {
    const StageWiring& w = wiring_[stage];
    if (w.table.empty()) return direction_of(port) ? (row | w.mask) : (row & ~w.mask);
    return w.table[static_cast<size_t>(row) * ports() + port];
  }

  uint64_t link_count() const { return static_cast<uint64_t>(stages()) * rows() * ports(); }
  // The index is dense and counts stage by stage: 0 .. link_count()-1.
  uint64_t link_index(LinkId link) const {
    return (static_cast<uint64_t>(link.stage) * rows() + link.row) * ports() + link.port;
  }
  LinkId link_at(uint64_t index) const;
  // OutOfRange names the field that is not a stage, row or port of this network.
  absl::Status CheckLink(LinkId link) const;

  // The links that enter the node `row` of level `stage + 1`, ordered by row and port.
  std::vector<LinkId> feeders(int stage, Row row) const;

 private:
  Network() = default;

  NetworkSpec spec_;
  int dimension_ = 0;
  TagLayout layout_;
  std::vector<StageWiring> wiring_;
  // The links into the nodes behind a stage that is wired by a table. Links links[first[row]] ..
  // links[first[row + 1] - 1] enter node `row`. A link is the number from * ports + port.
  struct LinksInto {
    std::vector<uint32_t> first;
    std::vector<uint32_t> links;
  };
  static LinksInto Invert(const std::vector<Row>& table, uint32_t rows);
  std::vector<LinksInto> into_;  // by stage; empty for a stage without a table
};

}  // namespace bfly
