// SPDX-License-Identifier: Apache-2.0
// The buffers of the nodes of an h-relation (h_relation_rule.h), their division among neighbours,
// and which neighbours a node has. The buffers of a node have no order, so the buffers that are
// assigned to one neighbour are a chain of messages and a number of ghosts.
//
// Where the paper says "any", the choice here is: the r neighbours of the lowest ports (among the
// neighbours that granted); buffers are assigned to them in turn, messages in the order of their
// arrival and then ghosts; an arrival takes the place of a ghost of the neighbour that has the most
// ghosts (of the lowest port among several), and the ghost that is deleted is of the neighbour that
// has the most (of the highest port among several).
//
// All methods are const, because all nodes share the object. A method changes only what belongs to
// the node or the message for which it is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/steps/h_relation_node.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

class HRelationBuffers {
 public:
  // The network outlives the object. `max_neighbours` is the paper's R.
  HRelationBuffers(const Network& network, HRelationLevels levels, int max_neighbours,
                   size_t messages);

  // The distinct neighbours of a side: bit p stands for port p of the direction, which is the
  // lowest port that leads to that neighbour.
  uint16_t Neighbours(const At& at, int direction) const {
    return neighbours_[SideIndex(at, direction)];
  }
  // The paper's r: min(R, distinct neighbours).
  int SlotCount(const At& at, int direction) const;
  // They have a meaning only once the node's neighbours are chosen.
  HRelationSlot* slots(const At& at, int direction) const {
    return &slots_[SideIndex(at, direction) * static_cast<size_t>(slots_of_side_)];
  }
  uint32_t next(uint32_t message) const { return next_[message]; }
  // How many links a message has crossed, and the row at which it ended its run.
  int crossed(uint32_t message) const { return crossed_[message]; }
  Row arrived_at(uint32_t message) const { return arrived_at_[message]; }
  void Cross(uint32_t message) const { ++crossed_[message]; }
  void Arrive(uint32_t message, Row row) const { arrived_at_[message] = row; }

  void Append(MessageChain& chain, uint32_t message) const;
  // Sets F and chooses the r lowest neighbours of those in `from`.
  void Choose(const At& at, HRelationSide& side, int direction, uint16_t from) const;
  // Assigns the full buffers of a side to its neighbours.
  void Divide(const At& at, HRelationSide& side, int direction) const;
  // Puts an arrival in place of a ghost.
  void Store(const At& at, HRelationSide& side, int direction, uint32_t message,
             HRelationTally& tally) const;
  // Assigns an arrival to the neighbour whose turn it is.
  void StoreGreedily(const At& at, HRelationNode& node, int direction, uint32_t message) const;
  // Deletes ghosts until `target` are left. Returns how many it deleted.
  uint32_t KeepGhosts(const At& at, HRelationSide& side, int direction, uint32_t target) const;

  // For a node with `slots` chosen neighbours in each direction.
  static uint64_t BytesOfNode(int slots);
  static constexpr uint64_t kBytesOfMessage = sizeof(uint32_t) + 2 * sizeof(Row) + 1;

 private:
  size_t SideIndex(const At& at, int direction) const {
    return (static_cast<size_t>(at.level) * rows_ + at.row) * kDirections +
           static_cast<size_t>(direction);
  }

  const Row rows_;
  const int multiplicity_;
  const int max_neighbours_;
  const int slots_of_side_;
  std::vector<uint16_t> neighbours_;  // one for each level, row and direction
  mutable std::vector<HRelationSlot> slots_;
  // One entry for each message.
  mutable std::vector<uint32_t> next_;
  mutable std::vector<uint8_t> crossed_;
  mutable std::vector<Row> arrived_at_;
};

}  // namespace bfly::dataplane
