// SPDX-License-Identifier: Apache-2.0
// The step clock runs a step rule (step_rule.h) at all nodes of a network, in exact steps. Its
// results do not depend on how many workers share the work, nor on how the rows are cut into
// blocks.
//
// A block is a range of levels times a range of rows. A step of several blocks has up to three
// parts: SendBlock, ReceiveBlock and SettleBlock. A part touches nodes of its own block only, and
// every block ends a part before any block begins the next one. Blocks share only the messages that
// they have sent. With one block messages are handed over at once, stage by stage from the last to
// the first, so that every head has sent before it receives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "dataplane/steps/active_bits.h"
#include "dataplane/steps/block_map.h"
#include "dataplane/steps/step_limits.h"
#include "dataplane/steps/step_rule.h"
#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::dataplane {

template <StepRule Rule>
class StepClock {
 public:
  using Node = typename Rule::Node;
  using Message = typename Rule::Message;
  using Answer = typename Rule::Answer;
  using Tally = typename Rule::Tally;

  // `blocks` is 1..rows ranges of rows; 0: the clock takes the blocks that the crew's workers own,
  // or makes one block for each worker. The network, the rule and the crew outlive the clock.
  // Memory: a Node for each of (hops + 1) * rows nodes, 3 bits of activity, and what a step sends.
  StepClock(const Network& network, const Rule& rule, Crew& crew, uint32_t blocks = 0)
      : network_(network),
        rule_(rule),
        crew_(crew),
        hops_(network.hops()),
        ports_(static_cast<size_t>(network.ports())),
        map_(hops_ + 1, network.rows(),
             blocks == 0 && !crew.blocks().empty()
                 ? crew.blocks()
                 : RowBlocks(hops_ + 1, network.rows(),
                             blocks > 0 ? blocks : static_cast<uint32_t>(crew.workers()))) {
    for (int hop = 0; hop < hops_; ++hop) {
      wiring_.push_back(&network.wiring(network.stage_of_hop(hop)));
    }
    for (const NodeBlock& nodes : map_.blocks()) blocks_.emplace_back(hops_, nodes);
    for (Block& block : blocks_) {
      for (int level = block.first; level < block.end_of_tails(hops_); ++level) {
        block.sent[static_cast<size_t>(level)].to.resize(map_.of_level(level + 1).size());
      }
    }
    nodes_.resize(static_cast<size_t>(hops_ + 1) * network.rows());
  }

  // How many steps are over, and how many were over when the last move happened.
  uint64_t step() const { return step_; }
  uint64_t moved_at() const { return moved_at_; }

  // Goes back to step 0 with new nodes and a new tally, for another run of the rule.
  void Restart() {
    // After a run that is done no node is active, but nodes may hold something.
    std::fill(nodes_.begin(), nodes_.end(), Node{});
    for (Block& block : blocks_) {
      block.active.Clear();
      block.tally = Tally{};
    }
    step_ = moved_at_ = 0;
  }

  // Between steps the caller may read nodes and change them. It calls Wake after a change.
  Node& node(int level, Row row) { return nodes_[Index(level, row)]; }
  const Node& node(int level, Row row) const { return nodes_[Index(level, row)]; }
  void Wake(int level, Row row) { Mark(blocks_[map_.BlockOf(level, row)], level, row); }

  Tally tally() const {
    Tally sum{};
    for (const Block& block : blocks_) sum += block.tally;
    return sum;
  }

  // How many nodes of a level are active.
  uint64_t ActiveNodes(int level) const {
    uint64_t count = 0;
    for (const uint32_t block : map_.of_level(level)) count += blocks_[block].active.Count(level);
    return count;
  }

  bool AnyActive() {
    // The level that was found last is most likely still active.
    for (int i = 0; i <= hops_; ++i) {
      const int level = seen_active_ + i <= hops_ ? seen_active_ + i : seen_active_ + i - hops_ - 1;
      for (const uint32_t block : map_.of_level(level)) {
        if (!blocks_[block].active.Any(level)) continue;
        seen_active_ = level;
        return true;
      }
    }
    return false;
  }

  void Step() {
    if (blocks_.size() == 1) {
      crew_.ForEach(1, [&](int, size_t) { StepOneBlock(blocks_[0]); });
    } else {
      crew_.ForEach(blocks_.size(), [&](int, size_t block) { SendBlock(blocks_[block]); });
      crew_.ForEach(blocks_.size(), [&](int, size_t block) {
        ReceiveBlock(block);
        if constexpr (!Answering<Rule>) EndBlock(blocks_[block]);
      });
      if constexpr (Answering<Rule>) {
        crew_.ForEach(blocks_.size(), [&](int, size_t block) {
          SettleBlock(blocks_[block]);
          EndBlock(blocks_[block]);
        });
      }
    }
    ++step_;
  }

  // Takes steps until no node is active or a limit is reached. A crew that has given up takes no
  // more steps, so there are no more moves. after_step(*this) is called after every step.
  template <typename AfterStep>
  StepEnd Run(const StepLimits& limits, AfterStep&& after_step) {
    const uint64_t first = step_;
    moved_at_ = step_;
    uint64_t moves = tally().moves;
    while (AnyActive()) {
      if (step_ - first >= limits.steps) return StepEnd::kLimit;
      if (limits.interrupted != nullptr && (step_ - first) % 16 == 0 && (*limits.interrupted)()) {
        return StepEnd::kInterrupted;
      }
      Step();
      if (crew_.given_up()) return StepEnd::kStuck;
      after_step(*this);
      if (const uint64_t now = tally().moves; now != moves) {
        moves = now;
        moved_at_ = step_;
      } else if (step_ - moved_at_ >= limits.idle_steps) {
        return StepEnd::kStuck;
      }
    }
    return StepEnd::kDone;
  }
  StepEnd Run(const StepLimits& limits) {
    return Run(limits, [](const StepClock&) {});
  }

 private:
  // Whether one block can carry a message to its head, and the answer back, at once.
  static constexpr bool kSettlesAtOnce =
      Answering<Rule> && AnswersAtOnce<Rule>() && SendsOrReceives<Rule>();
  static constexpr size_t kKinds = static_cast<size_t>(ActiveKinds<Rule>());

  struct Sent {
    Row head;
    Row tail;
    int port;
    [[no_unique_address]] Message message;
    [[no_unique_address]] Answer answer;
  };

  // What the nodes of a block have sent from one level, in the order of rows.
  struct SentOfLevel {
    std::vector<Sent> all;
    // For each place of a head's block in the next level: indices of `all`.
    std::vector<std::vector<uint32_t>> to;
    void Clear() {
      all.clear();
      for (std::vector<uint32_t>& indices : to) indices.clear();
    }
  };

  struct alignas(64) Block {
    Block(int hops, const NodeBlock& nodes)
        : first(nodes.first_level),
          end(nodes.end_level),
          active(hops + 1, nodes.first_row, nodes.end_row),
          sent(static_cast<size_t>(hops)) {}
    // The end of the levels whose nodes have links.
    int end_of_tails(int hops) const { return std::min(end, hops); }
    int first, end;  // levels
    ActiveBits<kKinds> active;
    std::vector<SentOfLevel> sent;  // what was sent from each level
    Tally tally{};
  };

  // Keeps what one node of a block sends until the heads' blocks take it.
  class Outbox {
   public:
    Outbox(const StepClock& clock, SentOfLevel& sent, const At& at)
        : clock_(clock), places_(clock.map_.places(at.level + 1)), sent_(sent), at_(at) {}
    void Put(int port, const Message& message) {
      const Row head = clock_.HeadOf(at_, port);
      sent_.to[places_[head]].push_back(static_cast<uint32_t>(sent_.all.size()));
      sent_.all.push_back({head, at_.row, port, message, Answer{}});
    }

   private:
    const StepClock& clock_;
    const uint16_t* const places_;
    SentOfLevel& sent_;
    const At& at_;
  };

  // Hands what one node sends to the heads at once. Used if there is only one block.
  class Handover {
   public:
    Handover(StepClock& clock, Block& block, const At& at, Node& tail)
        : clock_(clock), block_(block), at_(at), tail_(tail) {}
    void Put(int port, const Message& message) {
      const Row head = clock_.HeadOf(at_, port);
      const At at{at_.step, at_.level + 1, head};
      Node& node = clock_.node(at.level, head);
      const InLink link{at_.row, port};
      clock_.rule_.Receive(at, node, link, message, block_.tally);
      if constexpr (kSettlesAtOnce) {
        const Answer answer = clock_.rule_.Reply(at, node, link, message);
        clock_.Mark(block_, at.level, head);
        clock_.rule_.Settle(at_, tail_, port, answer, block_.tally);
        clock_.Mark(block_, at_.level, at_.row);
        return;
      } else if constexpr (Answering<Rule>) {
        Sent& sent = block_.sent[static_cast<size_t>(at_.level)].all.emplace_back(
            Sent{head, at_.row, port, message, Answer{}});
        if constexpr (AnswersAtOnce<Rule>()) {
          sent.answer = clock_.rule_.Reply(at, node, link, message);
        }
      }
      clock_.Mark(block_, at.level, head);
    }

   private:
    StepClock& clock_;
    Block& block_;
    const At& at_;
    Node& tail_;
  };

  size_t Index(int level, Row row) const {
    return static_cast<size_t>(level) * network_.rows() + row;
  }
  Row HeadOf(const At& at, int port) const {
    const StageWiring& wiring = *wiring_[static_cast<size_t>(at.level)];
    if (wiring.table.empty()) {
      return network_.direction_of(port) ? at.row | wiring.mask : at.row & ~wiring.mask;
    }
    return wiring.table[static_cast<size_t>(at.row) * ports_ + static_cast<size_t>(port)];
  }

  // Asks the rule whether the node is active.
  void Mark(Block& block, int level, Row row) {
    const int kind = rule_.Active(At{step_, level, row}, nodes_[Index(level, row)]);
    block.active.Set(level, row, static_cast<size_t>(kind));
  }

  bool LevelSends(int level) const {
    if constexpr (ChoosingLevels<Rule>) {
      return rule_.LevelSends(step_, level);
    } else {
      return true;
    }
  }

  // Calls act(at, node) for the nodes of a level that send.
  template <typename Act>
  void ForSenders(Block& block, int level, Act&& act) {
    block.active.ForEach(
        level,
        [&](Row row, const uint64_t* active) {
          if constexpr (ChoosingSenders<Rule>) {
            return rule_.Senders(At{step_, level, row}, active);
          } else {
            return ActiveBits<kKinds>::AllKinds(row, active);
          }
        },
        [&](Row row) {
          act(At{step_, level, row}, node(level, row));
        });
  }

  void StepOneBlock(Block& block) {
    for (int level = hops_ - 1; level >= 0; --level) {
      std::vector<Sent>& sent = block.sent[static_cast<size_t>(level)].all;
      sent.clear();
      if (!LevelSends(level)) continue;
      ForSenders(block, level, [&](const At& at, Node& tail) {
        Handover out(*this, block, at, tail);
        rule_.Send(at, tail, out);
        if constexpr (!Answering<Rule>) Mark(block, at.level, at.row);
      });
      if constexpr (Answering<Rule> && !AnswersAtOnce<Rule>()) {
        for (Sent& s : sent) Reply(block, level, s);
      }
    }
    if constexpr (Answering<Rule> && !kSettlesAtOnce) SettleBlock(block);
    EndBlock(block);
  }

  void SendBlock(Block& block) {
    for (int level = block.first; level < block.end_of_tails(hops_); ++level) {
      SentOfLevel& sent = block.sent[static_cast<size_t>(level)];
      sent.Clear();
      if (!LevelSends(level)) continue;
      ForSenders(block, level, [&](const At& at, Node& tail) {
        Outbox out(*this, sent, at);
        rule_.Send(at, tail, out);
        if constexpr (!Answering<Rule>) Mark(block, at.level, at.row);
      });
    }
  }

  // Calls act(sent) for every message that was sent from `level` to a block of the next level, in
  // the order of the tails. `place` is the place of the block in that level.
  template <typename Act>
  void ForSentTo(size_t place, int level, Act&& act) {
    for (const uint32_t from : map_.of_level(level)) {
      SentOfLevel& sent = blocks_[from].sent[static_cast<size_t>(level)];
      for (const uint32_t index : sent.to[place]) act(sent.all[index]);
    }
  }

  void ReceiveBlock(size_t to) {
    Block& block = blocks_[to];
    for (int level = std::max(block.first - 1, 0); level < block.end - 1; ++level) {
      const size_t place = map_.places(level + 1)[map_.blocks()[to].first_row];
      ForSentTo(place, level, [&](Sent& sent) {
        rule_.Receive({step_, level + 1, sent.head}, node(level + 1, sent.head),
                      {sent.tail, sent.port}, sent.message, block.tally);
        if constexpr (AnswersAtOnce<Rule>()) {
          Reply(block, level, sent);
        } else {
          Mark(block, level + 1, sent.head);
        }
      });
      if constexpr (Answering<Rule> && !AnswersAtOnce<Rule>()) {
        ForSentTo(place, level, [&](Sent& sent) { Reply(block, level, sent); });
      }
    }
  }

  void Reply(Block& block, int level, Sent& sent) {
    sent.answer = rule_.Reply({step_, level + 1, sent.head}, node(level + 1, sent.head),
                              {sent.tail, sent.port}, sent.message);
    Mark(block, level + 1, sent.head);
  }

  void SettleBlock(Block& block) {
    for (int level = block.first; level < block.end_of_tails(hops_); ++level) {
      for (const Sent& sent : block.sent[static_cast<size_t>(level)].all) {
        rule_.Settle({step_, level, sent.tail}, node(level, sent.tail), sent.port, sent.answer,
                     block.tally);
        Mark(block, level, sent.tail);
      }
    }
  }

  void EndBlock(Block& block) {
    if constexpr (Ending<Rule>) {
      for (int level = block.first; level < block.end; ++level) {
        block.active.ForEach(level, ActiveBits<kKinds>::AllKinds, [&](Row row) {
          rule_.End(At{step_, level, row}, node(level, row), block.tally);
          Mark(block, level, row);
        });
      }
    }
  }

  const Network& network_;
  const Rule& rule_;
  Crew& crew_;
  const int hops_;
  const size_t ports_;
  const BlockMap map_;
  std::vector<const StageWiring*> wiring_;  // the wiring of each hop
  uint64_t step_ = 0;
  uint64_t moved_at_ = 0;
  int seen_active_ = 0;
  std::vector<Block> blocks_;
  std::vector<Node> nodes_;
};

}  // namespace bfly::dataplane
