// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_buffers.h"

#include <algorithm>
#include <bit>

namespace bfly::dataplane {

void HRelationTally::operator+=(const HRelationTally& other) {
  StepTally::operator+=(other);
  delivered += other.delivered;
  crossings += other.crossings;
  flags += other.flags;
  requests += other.requests;
  ghosts_made += other.ghosts_made;
  ghosts_replaced += other.ghosts_replaced;
  ghosts_deleted += other.ghosts_deleted;
  homeless += other.homeless;
  deficits += other.deficits;
  above_bound += other.above_bound;
  largest_weight = std::max(largest_weight, other.largest_weight);
  largest_buffers = std::max(largest_buffers, other.largest_buffers);
  congestion = std::max(congestion, other.congestion);
  link_congestion = std::max(link_congestion, other.link_congestion);
}

HRelationBuffers::HRelationBuffers(const Network& network, HRelationLevels levels,
                                   int max_neighbours, size_t messages)
    : rows_(network.rows()),
      multiplicity_(network.multiplicity()),
      max_neighbours_(max_neighbours),
      slots_of_side_(std::min(max_neighbours, network.multiplicity())),
      neighbours_(static_cast<size_t>(network.stages()) * network.rows() * kDirections),
      slots_(neighbours_.size() * static_cast<size_t>(slots_of_side_)),
      next_(messages, MessageChain::kNone),
      crossed_(messages),
      arrived_at_(messages, MessageChain::kNone) {
  At at;
  for (at.level = levels.first; at.level < levels.last; ++at.level) {
    for (at.row = 0; at.row < rows_; ++at.row) {
      for (int port = 0; port < network.ports(); ++port) {
        const int direction = network.direction_of(port);
        const Row head = network.next_row(at.level, at.row, port);
        bool lowest = true;
        for (int lower = direction * multiplicity_; lower < port; ++lower) {
          if (network.next_row(at.level, at.row, lower) == head) lowest = false;
        }
        if (!lowest) continue;
        uint16_t& neighbours = neighbours_[SideIndex(at, direction)];
        neighbours = static_cast<uint16_t>(neighbours | 1u << (port - direction * multiplicity_));
      }
    }
  }
}

int HRelationBuffers::SlotCount(const At& at, int direction) const {
  return std::min(max_neighbours_, std::popcount(Neighbours(at, direction)));
}

uint64_t HRelationBuffers::BytesOfNode(int slots) {
  return sizeof(HRelationNode) +
         kDirections * (sizeof(uint16_t) + static_cast<uint64_t>(slots) * sizeof(HRelationSlot));
}

void HRelationBuffers::Append(MessageChain& chain, uint32_t message) const {
  next_[message] = MessageChain::kNone;
  (chain.count == 0 ? chain.first : next_[chain.last]) = message;
  chain.last = message;
  ++chain.count;
}

void HRelationBuffers::Choose(const At& at, HRelationSide& side, int direction,
                              uint16_t from) const {
  HRelationSlot* slot = slots(at, direction);
  const int count = SlotCount(at, direction);
  uint32_t left = from;
  for (int s = 0; s < count; ++s, left &= left - 1) {
    slot[s] = {};
    slot[s].port = direction * multiplicity_ + std::countr_zero(left);
  }
  side.slots = static_cast<uint8_t>(count);
  side.flag = true;
  side.fresh = true;
}

void HRelationBuffers::Divide(const At& at, HRelationSide& side, int direction) const {
  HRelationSlot* slot = slots(at, direction);
  int turn = 0;
  const auto Next = [&]() -> HRelationSlot& {
    HRelationSlot& next = slot[turn];
    turn = turn + 1 == side.slots ? 0 : turn + 1;
    return next;
  };
  uint32_t message = side.unassigned.first;
  for (uint32_t left = side.unassigned.count; left > 0; --left) {
    const uint32_t following = next_[message];
    Append(Next().messages, message);
    message = following;
  }
  side.unassigned = {};
  for (uint32_t left = side.ghosts; left > 0; --left) ++Next().ghosts;
}

void HRelationBuffers::Store(const At& at, HRelationSide& side, int direction, uint32_t message,
                             HRelationTally& tally) const {
  const bool has_ghost = side.ghosts > 0;
  if (has_ghost) {
    --side.ghosts;
    ++tally.ghosts_replaced;
  } else {
    ++side.full;
    ++tally.homeless;
  }
  if (!side.flag) {
    Append(side.unassigned, message);
    return;
  }
  HRelationSlot* slot = slots(at, direction);
  int most = 0;
  for (int s = 1; s < side.slots; ++s) {
    if (slot[s].ghosts > slot[most].ghosts) most = s;
  }
  if (has_ghost) --slot[most].ghosts;
  Append(slot[most].messages, message);
  side.to_tell = true;
}

void HRelationBuffers::StoreGreedily(const At& at, HRelationNode& node, int direction,
                                     uint32_t message) const {
  HRelationSide& side = node.sides[static_cast<size_t>(direction)];
  if (side.slots == 0) Choose(at, side, direction, Neighbours(at, direction));
  Append(slots(at, direction)[node.turn++ % side.slots].messages, message);
  side.to_tell = true;
}

uint32_t HRelationBuffers::KeepGhosts(const At& at, HRelationSide& side, int direction,
                                      uint32_t target) const {
  uint32_t deleted = 0;
  HRelationSlot* slot = slots(at, direction);
  for (; side.ghosts > target; --side.ghosts, ++deleted) {
    if (!side.flag) continue;
    int most = 0;
    for (int s = 1; s < side.slots; ++s) {
      if (slot[s].ghosts >= slot[most].ghosts) most = s;
    }
    --slot[most].ghosts;
    side.to_tell = true;
  }
  return deleted;
}

}  // namespace bfly::dataplane
