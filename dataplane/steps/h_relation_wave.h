// SPDX-License-Identifier: Apache-2.0
// One wave of an h-relation: all nodes in exact steps, stage after stage, and what an observer of
// all nodes sees: which classes are stuck, and how fast the number of blocked nodes falls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/steps/h_relation.h"
#include "dataplane/steps/h_relation_rule.h"
#include "dataplane/steps/step_clock.h"

namespace bfly::dataplane {

// For each wave its messages, ascending: those to rows that equal the wave modulo `waves`. The
// chains run through the rule's memory. A wave uses its chain up, so each can be used once.
std::vector<MessageChain> MessagesOfWaves(const Relation& relation, const HRelationRule& rule,
                                          uint32_t waves);

class HRelationWave {
 public:
  // Takes the messages of an entry of MessagesOfWaves, once. The clock is one of the rule and the
  // crew, and restarts.
  HRelationWave(const Network& network, const Relation& relation, HRelationRule& rule,
                const HRelationConfig& config, uint32_t wave, const MessageChain& messages,
                StepClock<HRelationRule>& clock, const Crew& crew);

  // Runs one stage. Returns false if that was the last stage: all messages are delivered, or the
  // wave makes no progress.
  bool Stage();

  uint64_t stages() const { return stage_; }
  uint64_t messages() const { return messages_; }
  bool finished() const { return tally().delivered == messages_; }
  const std::string& trouble() const { return trouble_; }
  HRelationRule::Tally tally() const;
  const std::vector<StuckReport>& stuck() const { return stuck_; }
  uint64_t blocked() const { return blocked_after_a_stage_; }
  double rho() const { return rho_; }
  const StepClock<HRelationRule>& clock() const { return clock_; }

 private:
  // The nodes that ask with the same splitter, side and W.
  struct Class {
    StuckReport report;
    uint32_t begun = 0;  // how many nodes asked when the level was reached
    bool moved = true;   // one of the nodes got permission in this iteration
  };
  struct Blocked {
    size_t of_class;
    Row row;
  };

  void Gather(int level);
  bool Iterate(int iteration);
  void CountBlocked();
  void DealWithStuck(size_t of_class);
  void Lemma2();

  const Network& network_;
  HRelationRule& rule_;
  const Crew& crew_;
  const HRelationConfig& config_;
  const uint32_t wave_;
  StepClock<HRelationRule>& clock_;
  const uint64_t messages_;
  HRelationRule::Tally driven_;  // the tally of what happened outside of steps
  uint64_t stage_ = 0;
  uint64_t blocked_after_a_stage_ = 0;
  double rho_ = 0;
  std::string trouble_;
  std::vector<Class> classes_;
  std::vector<Blocked> blocked_;  // ordered by class
  std::vector<StuckReport> stuck_;
};

}  // namespace bfly::dataplane
