// SPDX-License-Identifier: Apache-2.0
// A step rule says what one node does in one step of a program that all nodes of a network run
// together, at the same time. A rule sees its own node and the messages that come to that node. It
// does not depend on what carries the messages. step_clock.h carries them in exact steps.
//
// A step of all nodes:
//
//   1. Send    Every active node looks at its own state and puts at most one message on each of its
//              links.
//   2. Receive The head of a link gets the message. A head gets the messages of a step ordered by
//              the tail's row and, from the same tail, in the order in which the tail put them.
//      Reply   The head answers every message after all messages of the step have come to it.
//   3. Settle  The tail gets the answers to its messages, in the order in which it put them.
//   4. End     Every node that is active now ends the step. It may move what it holds between its
//              own buffers and queues.
//
// A node is *active* while Active() says so. The engine calls Active again whenever the node has
// received, replied, settled or ended, and under a rule without answers also when it has sent. For
// a node that is not active the engine calls only Receive and Reply, when messages come to the
// node.
//
// A rule is a class with these members; all methods are const, because all nodes share the rule:
//
//   using Node;     what one node remembers; default-constructed at every (level, row)
//   using Message;  what travels over a link; trivially copyable
//   using Answer;   what comes back over the same link; trivially copyable. NoAnswer: nothing does,
//                   and Reply and Settle are left out
//   using Tally;    what a report adds up over all nodes: derived from StepTally, with +=
//
//   void Send(const At&, Node&, Out& out)     for any class Out with `void Put(int port, Message)`
//   void Receive(const At&, Node&, const InLink&, const Message&, Tally&)
//   Answer Reply(const At&, Node&, const InLink&, const Message&)
//   void Settle(const At&, Node&, int port, const Answer&, Tally&)
//   void End(const At&, Node&, Tally&)        may be left out
//   int Active(const At&, const Node&)        0: not active. 1..kActiveKinds: active, of that kind
//
// and optionally these:
//
//   bool LevelSends(uint64_t step, int level)  false: no node of that level sends in that step
//   static constexpr int kActiveKinds          1 if left out
//   uint64_t Senders(const At&, const uint64_t* active)
//        which of the 64 nodes from at.row on send in this step, a bit each. at.row is a multiple
//        of
//        64. active[kind - 1] has those that are active; Send is called for no other node
//   static constexpr bool kAnswersAtOnce       Reply may follow the Receive of its message at once,
//                   before other messages of the step come: by the order above the first come first
//   static constexpr bool kSendsOrReceives     in a step a node sends or receives, never both
//
// Nodes at the last level get messages and send none. Packets may also stand in an array of the
// run, with their indices in nodes and messages: a packet is at one node at a time, so that node
// may write to it, and no other node may look at it.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "topologies/wiring.h"

namespace bfly::dataplane {

// Which node acts, and when. Levels are 0..hops, steps count from 0.
struct At {
  uint64_t step = 0;
  int level = 0;
  Row row = 0;
};

// A link seen from its head. Its tail is at the level before the head's.
struct InLink {
  Row tail = 0;
  int port = 0;
};

// The Answer of rules without answers.
struct NoAnswer {};

// What every rule counts. `moves` grows whenever the program comes nearer to its end, such as by a
// packet that crosses a link. The engine finds by it that a program makes no more moves.
struct StepTally {
  uint64_t moves = 0;
  void operator+=(const StepTally& other) { moves += other.moves; }
};

template <typename Rule>
concept Answering = !std::same_as<typename Rule::Answer, NoAnswer>;

template <typename Rule>
concept Ending = requires(const Rule& rule, const At& at, typename Rule::Node& node,
                          typename Rule::Tally& tally) {
  rule.End(at, node, tally);
};

template <typename Rule>
concept ChoosingLevels = requires(const Rule& rule) {
  { rule.LevelSends(uint64_t{}, int{}) } -> std::same_as<bool>;
};

template <typename Rule>
concept ChoosingSenders = requires(const Rule& rule, const At& at, const uint64_t* active) {
  { rule.Senders(at, active) } -> std::same_as<uint64_t>;
};

template <typename Rule>
constexpr int ActiveKinds() {
  if constexpr (requires { Rule::kActiveKinds; }) {
    return Rule::kActiveKinds;
  } else {
    return 1;
  }
}

template <typename Rule>
constexpr bool AnswersAtOnce() {
  if constexpr (requires { Rule::kAnswersAtOnce; }) {
    return Rule::kAnswersAtOnce;
  } else {
    return false;
  }
}

template <typename Rule>
constexpr bool SendsOrReceives() {
  if constexpr (requires { Rule::kSendsOrReceives; }) {
    return Rule::kSendsOrReceives;
  } else {
    return false;
  }
}

// An Out that discards its messages.
template <typename Message>
struct NoOut {
  void Put(int, const Message&) {}
};

template <typename Rule>
concept StepRule = std::is_trivially_copyable_v<typename Rule::Message> &&
    std::is_trivially_copyable_v<typename Rule::Answer> &&
    std::derived_from<typename Rule::Tally, StepTally> &&
    requires(const Rule& rule, const At& at, typename Rule::Node& node, const InLink& link,
             const typename Rule::Message& message, typename Rule::Tally& tally,
             NoOut<typename Rule::Message>& out) {
  rule.Send(at, node, out);
  rule.Receive(at, node, link, message, tally);
  { rule.Active(at, node) } -> std::convertible_to<int>;
  tally += tally;
} &&(!Answering<Rule> ||
     requires(const Rule& rule, const At& at, typename Rule::Node& node, const InLink& link,
              const typename Rule::Message& message, const typename Rule::Answer& answer,
              typename Rule::Tally& tally) {
       { rule.Reply(at, node, link, message) } -> std::same_as<typename Rule::Answer>;
       rule.Settle(at, node, int{}, answer, tally);
     });

}  // namespace bfly::dataplane
