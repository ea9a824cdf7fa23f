// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/h_relation_wave.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

std::vector<MessageChain> MessagesOfWaves(const Relation& relation, const HRelationRule& rule,
                                          uint32_t waves) {
  std::vector<MessageChain> chains(waves);
  for (uint32_t m = 0; m < relation.destinations.size(); ++m) {
    rule.buffers().Append(chains[relation.destinations[m] % waves], m);
  }
  return chains;
}

HRelationWave::HRelationWave(const Network& network, const Relation& relation, HRelationRule& rule,
                             const HRelationConfig& config, uint32_t wave,
                             const MessageChain& messages, StepClock<HRelationRule>& clock,
                             const Crew& crew)
    : network_(network),
      rule_(rule),
      crew_(crew),
      config_(config),
      wave_(wave),
      clock_(clock),
      messages_(messages.count) {
  rule_.now() = {};
  clock_.Restart();
  const int level = rule_.levels().first;
  uint32_t message = messages.first;
  Row row = 0;
  for (uint64_t left = messages_; left > 0;) {
    while (relation.first[row + 1] <= message) ++row;
    HRelationRule::Node& node = clock_.node(level, row);
    for (; left > 0 && message < relation.first[row + 1]; --left) {
      const uint32_t following = rule_.buffers().next(message);
      rule_.Give(row, node, message);
      if (config.log != nullptr) config.log->Begin(message, row, 0);
      message = following;
    }
    rule_.Begin(node, driven_);
    clock_.Wake(level, row);
  }
}

HRelationRule::Tally HRelationWave::tally() const {
  HRelationRule::Tally sum = clock_.tally();
  sum += driven_;
  return sum;
}

// Finds the nodes of a level that have to ask.
void HRelationWave::Gather(int level) {
  const int shift = network_.dimension() - level;
  struct Found {
    uint32_t splitter;
    int direction;
    uint32_t weight;
    Row row;
    auto Key() const { return std::tie(splitter, direction, weight, row); }
  };
  std::vector<Found> found;
  for (Row row = 0; row < network_.rows(); ++row) {
    const HRelationRule::Node& node = clock_.node(level, row);
    for (int direction = 0; direction < kDirections; ++direction) {
      const HRelationRule::Side& side = node.sides[static_cast<size_t>(direction)];
      if (rule_.Asks(side)) found.push_back({row >> shift, direction, side.weight, row});
    }
  }
  std::ranges::sort(found, {}, &Found::Key);
  for (const Found& f : found) {
    StuckReport report{wave_, stage_, level, f.splitter, f.direction, f.weight, 0};
    const bool same = !classes_.empty() && classes_.back().report.level == level &&
                      classes_.back().report.splitter == f.splitter &&
                      classes_.back().report.direction == f.direction &&
                      classes_.back().report.weight == f.weight;
    if (!same) classes_.push_back({report, 0, true});
    ++classes_.back().begun;
    blocked_.push_back({classes_.size() - 1, f.row});
  }
}

// Counts the nodes of every class that still ask.
void HRelationWave::CountBlocked() {
  std::vector<uint32_t> before;
  before.reserve(classes_.size());
  for (Class& c : classes_) {
    before.push_back(c.report.nodes);
    c.report.nodes = 0;
  }
  std::erase_if(blocked_, [&](const Blocked& b) {
    StuckReport& report = classes_[b.of_class].report;
    const HRelationRule::Node& node = clock_.node(report.level, b.row);
    if (!rule_.Asks(node.sides[static_cast<size_t>(report.direction)])) return true;
    ++report.nodes;
    return false;
  });
  for (size_t c = 0; c < classes_.size(); ++c) {
    classes_[c].moved = classes_[c].report.nodes != before[c];
  }
}

void HRelationWave::DealWithStuck(size_t of_class) {
  StuckReport report = classes_[of_class].report;
  report.stage = stage_;
  stuck_.push_back(report);
  if (config_.stuck == StuckClass::kStop) {
    if (trouble_.empty()) {
      trouble_ = absl::StrCat(
          "stage ", stage_, " of wave ", wave_, ": ", report.nodes, " nodes of splitter ",
          report.splitter, " of level ", report.level, " ask for W = ", report.weight,
          " in direction ", report.direction,
          " and none has enough neighbours that no other of them asks: the neighbour property "
          "fails. Use a larger L (share), a smaller R (neighbours) or a larger d (multiplicity)");
    }
    return;
  }
  for (const Blocked& b : blocked_) {
    if (b.of_class != of_class) continue;
    rule_.Force({0, report.level, b.row}, clock_.node(report.level, b.row), report.direction,
                driven_);
    clock_.Wake(report.level, b.row);
  }
}

// One iteration of Phase 1, step 2. Returns whether another iteration can change anything.
bool HRelationWave::Iterate(int iteration) {
  rule_.now() = {stage_, HRelationPart::kRequest, iteration, false};
  CountBlocked();
  clock_.Step();
  CountBlocked();
  bool more = false;
  for (size_t c = 0; c < classes_.size(); ++c) {
    if (classes_[c].report.nodes == 0) continue;
    if (classes_[c].moved) {
      more = true;
    } else {
      DealWithStuck(c);
    }
  }
  return more;
}

// Lemma 2 at the end of a stage, for the classes that have nodes left.
void HRelationWave::Lemma2() {
  for (const Class& c : classes_) {
    if (c.report.nodes == 0) continue;
    const uint64_t reached = static_cast<uint64_t>(c.report.level - rule_.levels().first);
    const double left = static_cast<double>(c.report.nodes) / c.begun;
    if (stage_ == reached) blocked_after_a_stage_ += c.report.nodes;
    rho_ = std::max(rho_, std::pow(left, 1.0 / static_cast<double>(stage_ + 1 - reached)));
  }
}

bool HRelationWave::Stage() {
  const HRelationLevels& levels = rule_.levels();
  const uint64_t moves = tally().moves;
  if (const int level = levels.first + static_cast<int>(stage_); level < levels.greedy_from) {
    Gather(level);
  }
  for (int z = 0; z < config_.iterations; ++z) {
    const bool more = Iterate(z);
    if (!trouble_.empty()) return false;
    if (!more) break;
  }
  CountBlocked();
  rule_.now() = {stage_, HRelationPart::kAssign, 0, false};
  clock_.Step();
  for (int y = 0; y < config_.rounds; ++y) {
    rule_.now() = {stage_, HRelationPart::kMove, y, y + 1 == config_.rounds};
    clock_.Step();
  }
  if (crew_.given_up()) {
    trouble_ = "the run was given up";
    return false;
  }
  Lemma2();
  ++stage_;
  if (finished()) return false;
  const bool all_reached = levels.first + static_cast<int>(stage_) >= levels.last;
  if (all_reached && tally().moves == moves) {
    trouble_ = absl::StrCat("nothing moved in stage ", stage_ - 1, " of wave ", wave_, ", and ",
                            messages_ - tally().delivered, " messages are not delivered");
  } else if (config_.max_stages > 0 && stage_ >= config_.max_stages) {
    trouble_ =
        absl::StrCat("wave ", wave_, " has taken ", stage_, " stages, and ",
                     messages_ - tally().delivered, " messages are not delivered (max_stages)");
  }
  return trouble_.empty();
}

}  // namespace bfly::dataplane
