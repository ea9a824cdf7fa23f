// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_rule.h"

#include <algorithm>

namespace bfly::dataplane {

void HRelationRule::Give(Row row, Node& node, uint32_t message) const {
  ++node.passed;
  const int direction = DirectionAt(levels_.first, message);
  if (levels_.first >= levels_.greedy_from) {
    buffers_.StoreGreedily({0, levels_.first, row}, node, direction, message);
  } else {
    buffers_.Append(node.sides[static_cast<size_t>(direction)].unassigned, message);
  }
}

void HRelationRule::Begin(Node& node, Tally& tally) const {
  tally.congestion = std::max<uint64_t>(tally.congestion, node.passed);
  tally.largest_buffers = std::max<uint64_t>(tally.largest_buffers, node.passed);
  if (levels_.first >= levels_.greedy_from) return;
  for (Side& side : node.sides) {
    side.full = side.unassigned.count;
    SetWeight(levels_.first, side, tally);
  }
}

void HRelationRule::SetWeight(int level, Side& side, Tally& tally) const {
  side.weight = std::bit_ceil(side.full + 1);
  tally.largest_weight = std::max<uint64_t>(tally.largest_weight, side.weight);
  const auto bound = static_cast<size_t>(level - levels_.first);
  if (bound < weight_bounds_.size() && side.weight > weight_bounds_[bound]) ++tally.above_bound;
}

void HRelationRule::Force(const At& at, Node& node, int direction, Tally& tally) const {
  Side& side = node.sides[static_cast<size_t>(direction)];
  buffers_.Choose(at, side, direction, buffers_.Neighbours(at, direction));
  side.withdraw = true;
  ++tally.moves;
}

void HRelationRule::Receive(const At& at, Node& node, const InLink&, const Message& message,
                            Tally& tally) const {
  switch (message.kind) {
    case Message::Kind::kRequest:
      if (node.request_step != at.step) {
        node.request_step = at.step;
        node.requests.fill(0);
        node.fewest.fill(UINT8_MAX);
      }
      ++node.requests[message.weight];
      node.fewest[message.weight] = std::min(node.fewest[message.weight], message.neighbours);
      node.recount = true;
      ++tally.requests;
      return;
    case Message::Kind::kAssign:
      node.assigned += message.buffers;
      node.recount = true;
      if (!message.cancels) return;
      [[fallthrough]];
    case Message::Kind::kCancel:
      // Requests of an iteration before the last are not repeated and need no withdrawal.
      node.recount = true;
      if (now_.part == HRelationPart::kAssign && node.request_step + 1 == at.step) {
        --node.requests[message.weight];
      }
      return;
    case Message::Kind::kMove:
      Take(at, node, message, tally);
      return;
  }
}

void HRelationRule::Note(const At& at, int port, const MessageChain& chain) const {
  uint32_t moving = chain.first;
  for (uint32_t left = chain.count; left > 0; --left, moving = buffers_.next(moving)) {
    log_->Cross(moving, at.level, at.row, port, at.step + 1);
  }
}

void HRelationRule::Take(const At& at, Node& node, const Message& message, Tally& tally) const {
  node.announced += static_cast<uint32_t>(message.ghosts);
  node.clean = at.level < levels_.greedy_from;
  node.passed += message.chain.count;
  tally.congestion = std::max<uint64_t>(tally.congestion, node.passed);
  tally.link_congestion = std::max<uint64_t>(tally.link_congestion, message.crossed);
  tally.crossings += message.chain.count;
  tally.moves += message.chain.count;
  uint32_t moving = message.chain.first;
  for (uint32_t left = message.chain.count; left > 0; --left) {
    const uint32_t following = buffers_.next(moving);
    buffers_.Cross(moving);
    if (at.level == levels_.last) {
      buffers_.Arrive(moving, at.row);
      ++tally.delivered;
    } else if (const int direction = DirectionAt(at.level, moving);
               at.level >= levels_.greedy_from) {
      buffers_.StoreGreedily(at, node, direction, moving);
    } else {
      buffers_.Store(at, node.sides[static_cast<size_t>(direction)], direction, moving, tally);
    }
    moving = following;
  }
}

// Phase 1, step 2.3.
void HRelationRule::Decide(const At& at, Node& node, Tally& tally) const {
  for (int direction = 0; direction < kDirections; ++direction) {
    Side& side = node.sides[static_cast<size_t>(direction)];
    if (!side.asked) continue;
    if (std::popcount(side.granted) >= buffers_.SlotCount(at, direction)) {
      buffers_.Choose(at, side, direction, side.granted);
      side.withdraw = true;
      ++tally.flags;
      ++tally.moves;
    }
    side.asked = false;
    side.granted = 0;
  }
}

// Phase 1, steps 4 and 5.
void HRelationRule::Reserve(const At& at, Node& node, Tally& tally) const {
  uint32_t reserved = 0;
  if (node.request_step + 1 == at.step) {
    for (size_t weight = 0; weight < kHRelationWeights; ++weight) {
      if (node.requests[weight] == 0) continue;
      const uint32_t neighbours = node.fewest[weight];
      reserved += ((1u << weight) + neighbours - 1) / neighbours;
    }
  }
  if (Reached(at.level)) {
    const uint32_t full = node.assigned + reserved;
    for (Side& side : node.sides) side.full = side.ghosts = full;
    tally.ghosts_made += 2 * uint64_t{full};
    tally.largest_buffers = std::max(tally.largest_buffers, 2 * uint64_t{full});
  } else if (reserved != node.reserved) {
    node.clean = true;
  }
  node.reserved = reserved;
  node.assigned = 0;
  node.recount = false;
}

// Phase 2, step 1.2.
void HRelationRule::DeleteGhosts(const At& at, Node& node, Tally& tally) const {
  const uint32_t target = node.reserved + node.announced;
  for (int direction = 0; direction < kDirections; ++direction) {
    Side& side = node.sides[static_cast<size_t>(direction)];
    if (side.ghosts < target) tally.deficits += target - side.ghosts;
    const uint32_t deleted = buffers_.KeepGhosts(at, side, direction, target);
    tally.ghosts_deleted += deleted;
    tally.moves += deleted;
    if (Reached(at.level)) side.full -= deleted;
  }
  node.clean = false;
}

void HRelationRule::End(const At& at, Node& node, Tally& tally) const {
  if (at.level >= levels_.greedy_from) {
    node.recount = false;
    return;
  }
  switch (now_.part) {
    case HRelationPart::kRequest:
      Decide(at, node, tally);
      return;
    case HRelationPart::kAssign:
      if (node.recount) Reserve(at, node, tally);
      return;
    case HRelationPart::kMove:
      if (node.clean) DeleteGhosts(at, node, tally);
      if (now_.last && Reached(at.level)) {
        for (Side& side : node.sides) SetWeight(at.level, side, tally);
      }
      return;
  }
}

int HRelationRule::Active(const At& at, const Node& node) const {
  if (at.level >= levels_.last) return 0;
  if (at.level >= levels_.greedy_from) {
    return node.sides[0].to_tell || node.sides[1].to_tell ? 1 : 0;
  }
  if (node.recount || node.clean) return 1;
  for (const Side& side : node.sides) {
    if (side.weight == 0 ? side.full > 0 : !side.flag || side.fresh || side.to_tell) return 1;
  }
  return 0;
}

}  // namespace bfly::dataplane
