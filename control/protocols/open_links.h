// SPDX-License-Identifier: Apache-2.0
// The links that link-disjoint paths may use, and what a search for such paths asks of the network.
// For networks of log2(rows) stages, on which the output decides the direction of every hop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "control/protocols/link_load.h"
#include "control/protocols/protocol.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::control {

class OpenLinks {
 public:
  // A link is open if it carries no circuit of `standing` and `faults` do not block it. Both may be
  // null. `network` must outlive the object.
  OpenLinks(const Network& network, const LinkLoad* standing, const FaultSet* faults);

  const Network& network() const { return *network_; }
  bool is_open(uint64_t link) const { return open_[link] != 0; }
  void Close(uint64_t link) { open_[link] = 0; }
  void Open(uint64_t link) { open_[link] = 1; }

  // The direction that hop `hop` of every path to `output` takes.
  int direction(Row output, int hop) const {
    return static_cast<int>(output >> (network_->stages() - 1 - hop) & 1);
  }
  // The links that leave a node in a direction are first_link(..) + 0 .. multiplicity - 1.
  uint64_t first_link(int stage, Row row, int direction) const {
    return network_->link_index({stage, row, direction * network_->multiplicity()});
  }
  Row head(uint64_t link) const {
    const LinkId id = network_->link_at(link);
    return network_->next_row(id.stage, id.row, id.port);
  }
  // How many open links leave a node in a direction.
  int CountOpen(int stage, Row row, int direction) const;

  // The tag of the path over these links, one a hop.
  Tag TagOf(const std::vector<uint64_t>& links) const;

  // The rows that open paths from `input` towards `output` reach, by level; each row comes once,
  // with the link that leads there. All three add the number of links they looked at to `looks`.
  struct Reached {
    Row row = 0;
    uint64_t by = 0;
  };
  std::vector<std::vector<Reached>> Reach(Row input, Row output, uint64_t& looks) const;
  // The links of an open path from input to output, or nothing if there is none.
  std::optional<std::vector<uint64_t>> FindPath(Row input, Row output, uint64_t& looks) const;
  // The number of open paths from input to output; it stops at `limit`.
  uint64_t CountPaths(Row input, Row output, uint64_t limit, uint64_t& looks) const;

 private:
  const Network* network_;
  std::vector<uint8_t> open_;  // by link
};

}  // namespace bfly::control
