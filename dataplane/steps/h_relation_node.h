// SPDX-License-Identifier: Apache-2.0
// What a node of Pietracaprina's h-relation algorithm remembers, what it sends, and what a report
// adds up (h_relation_rule.h). Names of the paper: W is `weight`, F is `flag`, g' is `reserved`,
// g'' is `announced`.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/steps/step_rule.h"
#include "topologies/network.h"

namespace bfly::dataplane {

enum class HRelationPart { kRequest, kAssign, kMove };

// The step of the algorithm that all nodes are in. Every node could count the steps for itself. The
// run tells the nodes instead, because it leaves out requests that would be answered as before.
struct HRelationStep {
  uint64_t stage = 0;
  HRelationPart part = HRelationPart::kRequest;
  int number = 0;     // the number of the request or the move, from 0
  bool last = false;  // whether this is the last move of this stage
};

struct HRelationLevels {
  int first = 0;        // where the messages start
  int greedy_from = 0;  // first..last
  int last = 0;         // where the messages end
};

// Messages in a chain: a relation's numbers, linked in HRelationBuffers.
struct MessageChain {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t first = kNone;
  uint32_t last = kNone;
  uint32_t count = 0;
};

// A batch of weight 2^j is numbered j.
inline constexpr int kHRelationWeights = 32;

// The upper or the lower buffers of a node, and the node as an input of a splitter.
struct HRelationSide {
  uint32_t weight = 0;    // W; 0 until the node has been reached
  uint32_t full = 0;      // buffers that were full when W was set; later no more are full
  uint32_t ghosts = 0;    // how many of these buffers hold a ghost now
  bool flag = false;      // F
  bool fresh = false;     // F was set in this stage and neighbours have not been told
  bool asked = false;     // the node has sent requests that are not withdrawn
  bool withdraw = false;  // F was set in the iteration before, and requests are to be cancelled
  bool to_tell = false;   // a neighbour's slot has messages, or another number of ghosts
  uint8_t slots = 0;      // r; 0 until F is set
  // A bit for each port of the direction: the neighbour granted in this iteration.
  uint16_t granted = 0;
  MessageChain unassigned;  // messages while F = 0
};

// The buffers that are assigned to one neighbour.
struct HRelationSlot {
  MessageChain messages;
  uint32_t ghosts = 0;
  uint32_t told = 0;     // ghosts that the neighbour knows of
  uint32_t crossed = 0;  // messages that have gone to the neighbour
  int port = 0;
};

struct HRelationNode {
  std::array<HRelationSide, kDirections> sides;
  uint32_t passed = 0;  // messages that have come to this node
  uint32_t turn = 0;    // in greedy levels: counts messages on their way out
  // The node as an output of a splitter.
  uint64_t request_step = UINT64_MAX;                 // the step to which `requests` belong
  std::array<uint8_t, kHRelationWeights> requests{};  // requests for each weight
  // For each weight: the fewest neighbours of a node that asks.
  std::array<uint8_t, kHRelationWeights> fewest{};
  uint32_t assigned = 0;   // buffers that tails assigned to this node in this stage
  uint32_t reserved = 0;   // g'
  uint32_t announced = 0;  // g''
  bool recount = false;    // g' may have changed
  bool clean = false;      // ghosts may be in excess
};

struct HRelationMessage {
  enum class Kind : uint8_t { kRequest, kCancel, kAssign, kMove };
  Kind kind = Kind::kRequest;
  uint8_t weight = 0;      // log W of a request or a cancellation
  uint8_t neighbours = 0;  // r of the node that asks
  bool cancels = false;    // kAssign: the message also withdraws a request of `weight`
  uint32_t buffers = 0;    // kAssign
  int32_t ghosts = 0;      // kMove: by how much g'' changes
  uint32_t crossed = 0;    // kMove: all messages that crossed this link so far
  MessageChain chain;      // kMove
};

struct HRelationTally : StepTally {
  uint64_t delivered = 0;
  uint64_t crossings = 0;  // how many messages crossed links
  uint64_t flags = 0;      // sides that set F after a request
  uint64_t requests = 0;   // messages that ask for a batch
  uint64_t ghosts_made = 0;
  uint64_t ghosts_replaced = 0;
  uint64_t ghosts_deleted = 0;
  uint64_t homeless = 0;         // arrivals without a ghost to replace
  uint64_t deficits = 0;         // ghosts that a node should have and does not have
  uint64_t above_bound = 0;      // sides with W above the bound of their level
  uint64_t largest_weight = 0;   // W
  uint64_t largest_buffers = 0;  // full buffers at one node, both sides
  uint64_t congestion = 0;       // messages through one node
  uint64_t link_congestion = 0;  // messages over one link
  void operator+=(const HRelationTally& other);
};

}  // namespace bfly::dataplane
