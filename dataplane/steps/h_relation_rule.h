// SPDX-License-Identifier: Apache-2.0
// What one node does in a step of Pietracaprina's h-relation algorithm (1997, section 3), as a step
// rule (step_rule.h). h_relation.h runs it.
//
// A stage has these steps:
//
//   request  (Z times) a node with F = 0 and W > h asks all its neighbours of a side for a batch of
//            ceil(W / r); Reply grants it if no other node asks for the same W; End sets F after r
//            grants. A node with W <= h sets F without asking. (Phase 1, steps 1 and 2)
//   assign   a node that has set F in this stage divides its full buffers among r neighbours, tells
//            how many each gets, and withdraws the requests of the last iteration. A node that was
//            reached for the first time creates ghosts. (Phase 1, steps 3 to 5)
//   move     (Y times) a node with F = 1 sends the messages that it holds and tells how many ghosts
//            are left; the head puts the messages in place of ghosts and deletes ghosts in excess.
//            (Phase 2, step 1)
//
// r is min(R, the distinct neighbours on that side). Parallel edges count as one neighbour, the
// neighbour of the lowest port. In the levels from `greedy_from` on, nodes know neither flags nor
// ghosts and send what they hold to the first r neighbours in turn. If nodes with different r ask
// an output for the same W, the output reserves buffers for the largest of their batches.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/steps/crossing_log.h"
#include "dataplane/steps/h_relation_buffers.h"
#include "dataplane/steps/h_relation_node.h"
#include "dataplane/steps/step_rule.h"
#include "topologies/network.h"
#include "topologies/relation.h"

namespace bfly::dataplane {

class HRelationRule {
 public:
  using Node = HRelationNode;
  using Side = HRelationSide;
  using Message = HRelationMessage;
  struct Answer {
    bool granted = false;
  };
  using Tally = HRelationTally;

  // The network and the relation outlive the rule. `small_weight` is max(h, R): larger W need
  // permission.
  HRelationRule(const Network& network, const Relation& relation, HRelationLevels levels, int r,
                uint64_t small_weight)
      : network_(network),
        relation_(relation),
        levels_(levels),
        multiplicity_(network.multiplicity()),
        small_weight_(small_weight),
        buffers_(network, levels, r, relation.destinations.size()) {}

  // Sets the bounds with which W of the nodes is compared, one for each level from `first` on
  // (Tally::above_bound).
  void set_weight_bounds(std::vector<uint64_t> bounds) { weight_bounds_ = std::move(bounds); }

  // The log notes when messages cross links. It outlives the rule. Null: no log.
  void set_log(CrossingLog* log) { log_ = log; }

  HRelationStep& now() { return now_; }
  const HRelationStep& now() const { return now_; }
  const HRelationLevels& levels() const { return levels_; }
  uint64_t small_weight() const { return small_weight_; }
  const HRelationBuffers& buffers() const { return buffers_; }

  // Puts a message at a node of the first level before the run.
  void Give(Row row, Node& node, uint32_t message) const;
  // Sets W after all messages of the node were given.
  void Begin(Node& node, Tally& tally) const;
  // Whether the node has to ask and has no permission yet.
  bool Asks(const Side& side) const { return !side.flag && side.weight > small_weight_; }
  // Sets F of a side whose requests are refused for ever: the node takes its first r neighbours.
  void Force(const At& at, Node& node, int direction, Tally& tally) const;

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const;
  void Receive(const At& at, Node& node, const InLink& link, const Message& message,
               Tally& tally) const;
  Answer Reply(const At& at, const Node& node, const InLink&, const Message& message) const {
    return {message.kind == Message::Kind::kRequest && at.step == node.request_step &&
            node.requests[message.weight] == 1};
  }
  void Settle(const At&, Node& node, int port, const Answer& answer, Tally&) const {
    if (!answer.granted) return;
    Side& side = node.sides[port < multiplicity_ ? 0 : 1];
    side.granted = static_cast<uint16_t>(side.granted | 1u << (port % multiplicity_));
  }
  void End(const At& at, Node& node, Tally& tally) const;
  int Active(const At& at, const Node& node) const;
  bool LevelSends(uint64_t, int level) const {
    return level >= levels_.first && level < levels_.last &&
           static_cast<uint64_t>(level - levels_.first) <= now_.stage &&
           (level < levels_.greedy_from || now_.part == HRelationPart::kMove);
  }

 private:
  // The level that nodes reach in this stage.
  bool Reached(int level) const {
    return static_cast<uint64_t>(level - levels_.first) == now_.stage + 1;
  }
  int DirectionAt(int level, uint32_t message) const {
    return (relation_.destinations[message] & network_.wiring(level).mask) != 0;
  }
  static uint8_t LogOf(uint32_t weight) { return static_cast<uint8_t>(std::bit_width(weight) - 1); }

  void SetWeight(int level, Side& side, Tally& tally) const;
  void Note(const At& at, int port, const MessageChain& chain) const;
  void Take(const At& at, Node& node, const Message& message, Tally& tally) const;
  void Decide(const At& at, Node& node, Tally& tally) const;
  void Reserve(const At& at, Node& node, Tally& tally) const;
  void DeleteGhosts(const At& at, Node& node, Tally& tally) const;

  template <typename Out>
  void Ask(const At& at, Side& side, int direction, Out& out) const;
  template <typename Out>
  void Tell(const At& at, Side& side, int direction, Out& out) const;
  template <typename Out>
  void Move(const At& at, Side& side, int direction, Out& out) const;

  const Network& network_;
  const Relation& relation_;
  const HRelationLevels levels_;
  const int multiplicity_;
  const uint64_t small_weight_;
  std::vector<uint64_t> weight_bounds_;
  HRelationBuffers buffers_;
  HRelationStep now_;
  CrossingLog* log_ = nullptr;
};

template <typename Out>
void HRelationRule::Send(const At& at, Node& node, Out& out) const {
  for (int direction = 0; direction < kDirections; ++direction) {
    Side& side = node.sides[static_cast<size_t>(direction)];
    switch (now_.part) {
      case HRelationPart::kRequest:
        Ask(at, side, direction, out);
        break;
      case HRelationPart::kAssign:
        Tell(at, side, direction, out);
        break;
      case HRelationPart::kMove:
        Move(at, side, direction, out);
        break;
    }
  }
}

template <typename Out>
void HRelationRule::Ask(const At& at, Side& side, int direction, Out& out) const {
  const uint16_t all = buffers_.Neighbours(at, direction);
  const bool asks = Asks(side);
  if (!asks && !side.withdraw) {
    if (!side.flag && side.weight > 0) buffers_.Choose(at, side, direction, all);
    return;
  }
  Message message;
  message.kind = asks ? Message::Kind::kRequest : Message::Kind::kCancel;
  message.weight = LogOf(side.weight);
  message.neighbours = static_cast<uint8_t>(buffers_.SlotCount(at, direction));
  for (uint32_t left = all; left != 0; left &= left - 1) {
    out.Put(direction * multiplicity_ + std::countr_zero(left), message);
  }
  side.asked = asks;
  side.withdraw = false;
}

template <typename Out>
void HRelationRule::Tell(const At& at, Side& side, int direction, Out& out) const {
  if (!side.fresh) return;
  buffers_.Divide(at, side, direction);
  Message message;
  message.kind = Message::Kind::kAssign;
  message.cancels = side.withdraw;
  message.weight = LogOf(side.weight);
  uint32_t others = side.withdraw ? buffers_.Neighbours(at, direction) : 0u;
  const HRelationSlot* slots = buffers_.slots(at, direction);
  for (int s = 0; s < side.slots; ++s) {
    message.buffers = slots[s].messages.count + slots[s].ghosts;
    out.Put(slots[s].port, message);
    others &= ~(1u << (slots[s].port % multiplicity_));
  }
  message.kind = Message::Kind::kCancel;
  message.buffers = 0;
  for (; others != 0; others &= others - 1) {
    out.Put(direction * multiplicity_ + std::countr_zero(others), message);
  }
  side.fresh = false;
  side.withdraw = false;
  side.to_tell = true;
}

template <typename Out>
void HRelationRule::Move(const At& at, Side& side, int direction, Out& out) const {
  if (!side.to_tell) return;
  HRelationSlot* slots = buffers_.slots(at, direction);
  for (int s = 0; s < side.slots; ++s) {
    HRelationSlot& slot = slots[s];
    if (slot.messages.count == 0 && slot.ghosts == slot.told) continue;
    slot.crossed += slot.messages.count;
    Message message;
    message.kind = Message::Kind::kMove;
    message.chain = slot.messages;
    message.crossed = slot.crossed;
    message.ghosts = static_cast<int32_t>(slot.ghosts) - static_cast<int32_t>(slot.told);
    if (log_ != nullptr) Note(at, slot.port, slot.messages);
    slot.messages = {};
    slot.told = slot.ghosts;
    out.Put(slot.port, message);
  }
  side.to_tell = false;
}

}  // namespace bfly::dataplane
