// SPDX-License-Identifier: Apache-2.0
// The links of a stage in 2c colours, c = multiplicity: every node before the stage has one link of
// each colour, and so has every node behind it. In a step of one colour no two links lead to the
// same node (Diebold 2008, section 3: the edges between two levels split into 2c perfect
// matchings).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly {

class EdgeColouring {
 public:
  // The links by port k of direction 0 and port k of direction 1 make even cycles, since every node
  // before the stage has two of them, and so has every node behind it. Colours 2k and 2k+1
  // alternate along each cycle; the first row of a cycle has the link of direction 0 in colour 2k.
  //
  // InvalidArgument if some k gives a node behind a stage another number of links than two: the
  // kinds of NetworkKind all give two.
  static absl::StatusOr<EdgeColouring> Make(const Network& network);

  int colours() const { return colours_; }
  // The port of the link of this colour that leaves (stage, row).
  int port(int stage, int colour, Row row) const { return ports_[Index(stage, colour) + row]; }
  // The same for all rows of a stage: an array of `rows` ports.
  const uint8_t* ports(int stage, int colour) const { return ports_.data() + Index(stage, colour); }

 private:
  EdgeColouring(int stages, int colours, Row rows)
      : colours_(colours),
        rows_(rows),
        ports_(static_cast<size_t>(stages) * static_cast<size_t>(colours) * rows) {}
  size_t Index(int stage, int colour) const {
    return static_cast<size_t>(stage * colours_ + colour) * rows_;
  }

  int colours_;
  Row rows_;
  std::vector<uint8_t> ports_;  // by stage, colour and row
};

}  // namespace bfly
