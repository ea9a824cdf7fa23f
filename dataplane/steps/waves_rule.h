// SPDX-License-Identifier: Apache-2.0
// What one node does in a step of a wave (waves.h).
//
// A node offers its packet to the head of one link and keeps it until the head answers that it took
// the packet. In a step of one colour a head gets at most one message, and heads are on levels that
// do not send in this phase.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/steps/step_rule.h"
#include "topologies/edge_colouring.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// What all waves on a network share.
class WaveWiring {
 public:
  // `faults` may be null and need not outlive the object.
  static absl::StatusOr<WaveWiring> Make(const Network& network, const FaultSet* faults);

  const EdgeColouring& colouring() const { return colouring_; }
  int dimension() const { return dimension_; }

  // Two words, one for each direction: which of the nodes row..row+63 of a stage have a link of
  // this colour that leads in that direction and that packets may cross.
  const uint64_t* Leads(int stage, int colour, Row row) const {
    const size_t level = static_cast<size_t>(stage * colouring_.colours() + colour);
    return leads_.data() + (level * words_ + row / 64) * 2;
  }

 private:
  explicit WaveWiring(EdgeColouring colouring) : colouring_(std::move(colouring)) {}

  EdgeColouring colouring_;
  int dimension_ = 0;
  size_t words_ = 0;             // words of 64 rows in a level
  std::vector<uint64_t> leads_;  // one word for each stage, colour, word of rows and direction
};

// Cell is an unsigned integer type that can hold every row and one further value.
template <typename Cell>
class WavesRule {
 public:
  static constexpr Cell kNone = std::numeric_limits<Cell>::max();
  // A packet is its destination, because no two packets of a wave have the same one.
  struct Node {
    Cell packet = kNone;
  };
  using Message = Cell;
  using Answer = bool;  // whether the head took the packet
  using Tally = StepTally;
  // Kind 1: the packet needs direction 0; kind 2: direction 1.
  static constexpr int kActiveKinds = 2;
  static constexpr bool kAnswersAtOnce = true;
  static constexpr bool kSendsOrReceives = true;

  explicit WavesRule(const WaveWiring& wiring) : wiring_(wiring) {}

  uint64_t Senders(const At& at, const uint64_t* active) const {
    const uint64_t* leads = wiring_.Leads(at.level, ColourOf(at.step), at.row);
    return (active[0] & leads[0]) | (active[1] & leads[1]);
  }
  bool LevelSends(uint64_t step, int level) const {
    return (step / Colours() + static_cast<uint64_t>(level)) % 2 == 0;
  }
  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    out.Put(wiring_.colouring().port(at.level, ColourOf(at.step), at.row), node.packet);
  }
  void Receive(const At&, Node&, const InLink&, const Message&, Tally&) const {}
  bool Reply(const At&, Node& node, const InLink&, const Message& message) const {
    if (node.packet != kNone) return false;
    node.packet = message;
    return true;
  }
  void Settle(const At&, Node& node, int, const bool& taken, Tally& tally) const {
    if (!taken) return;
    node.packet = kNone;
    ++tally.moves;
  }
  // Outputs keep what came to them.
  int Active(const At& at, const Node& node) const {
    if (node.packet == kNone || at.level == wiring_.dimension()) return 0;
    return 1 + (node.packet >> (wiring_.dimension() - 1 - at.level) & 1);
  }

 private:
  uint64_t Colours() const { return static_cast<uint64_t>(wiring_.colouring().colours()); }
  int ColourOf(uint64_t step) const { return static_cast<int>(step % Colours()); }

  const WaveWiring& wiring_;
};

}  // namespace bfly::dataplane
