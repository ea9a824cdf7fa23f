// SPDX-License-Identifier: Apache-2.0
#include "dataplane/steps/step_clock.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::dataplane {
namespace {

enum class Answers { kNone, kAtTheEnd, kAtOnce };

uint64_t Mix(uint64_t state, uint64_t value) {
  uint64_t mixed = (state ^ value) * 0x9E3779B97F4A7C15u;
  return mixed ^ mixed >> 29;
}

template <Answers kAnswers>
struct AnswerOf {
  using Type = uint64_t;
};
template <>
struct AnswerOf<Answers::kNone> {
  using Type = NoAnswer;
};

// Every node folds all that happens to it into a number, so that a difference in what comes, in
// which order, or when, changes the numbers of all nodes behind it. Nodes are active for some steps
// after something came.
template <Answers kAnswers>
struct Folding {
  struct Node {
    uint64_t fold = 0;
    uint64_t came = 0;  // messages of this step
    int energy = 0;     // steps for which the node is active
  };
  using Message = uint64_t;
  using Answer = typename AnswerOf<kAnswers>::Type;
  struct Tally : StepTally {
    uint64_t sum = 0;
    void operator+=(const Tally& other) {
      moves += other.moves;
      sum += other.sum;
    }
  };
  static constexpr bool kAnswersAtOnce = kAnswers == Answers::kAtOnce;
  static constexpr int kActiveKinds = 2;

  int ports = 2;

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    for (int port = 0; port < ports; ++port) {
      if ((node.fold >> port & 3) == 0) continue;
      out.Put(port, Mix(node.fold, at.step * 64 + static_cast<uint64_t>(port)));
    }
    if (kAnswers == Answers::kNone) node.fold = Mix(node.fold, 7);
  }
  void Receive(const At& at, Node& node, const InLink& link, const Message& message,
               Tally& tally) const {
    const uint64_t from = link.tail * 64 + static_cast<uint64_t>(link.port);
    node.fold = Mix(Mix(node.fold, message), from + at.step);
    node.energy = 1 + static_cast<int>(node.fold % 4);
    ++node.came;
    ++tally.moves;
    tally.sum += message;
  }
  // An answer tells how many messages had come to the node.
  uint64_t Reply(const At&, Node& node, const InLink&, const Message& message) const {
    return Mix(message, node.came);
  }
  void Settle(const At&, Node& node, int port, const uint64_t& answer, Tally&) const {
    node.fold = Mix(Mix(node.fold, answer), static_cast<uint64_t>(port));
  }
  void End(const At&, Node& node, Tally&) const {
    node.came = 0;
    --node.energy;
  }
  int Active(const At& at, const Node& node) const {
    return node.energy > 0 ? 1 + static_cast<int>(at.row % 2) : 0;
  }
};

// The same by the words of step_rule.h, with a list of messages and no notion of activity but the
// rule's.
template <Answers kAnswers>
class PlainSteps {
 public:
  using Rule = Folding<kAnswers>;
  using Node = typename Rule::Node;

  PlainSteps(const Network& network, const Rule& rule) : network_(network), rule_(rule) {}
  Node& node(int level, Row row) { return nodes_[{level, row}]; }
  uint64_t sum() const { return tally_.sum; }

  void Step() {
    struct Sent {
      At tail, head;
      int port;
      uint64_t message, answer;
    };
    std::vector<Sent> sent;
    for (int level = 0; level < network_.hops(); ++level) {
      for (Row row = 0; row < network_.rows(); ++row) {
        const At at{step_, level, row};
        if (!rule_.Active(at, node(level, row))) continue;
        struct {
          std::vector<std::pair<int, uint64_t>> put;
          void Put(int port, uint64_t message) { put.emplace_back(port, message); }
        } out;
        rule_.Send(at, node(level, row), out);
        for (const auto& [port, message] : out.put) {
          const Row head = network_.next_row(network_.stage_of_hop(level), row, port);
          sent.push_back({at, {step_, level + 1, head}, port, message, 0});
        }
      }
    }
    for (Sent& s : sent) {
      Node& head = node(s.head.level, s.head.row);
      rule_.Receive(s.head, head, {s.tail.row, s.port}, s.message, tally_);
      if (kAnswers == Answers::kAtOnce) s.answer = rule_.Reply(s.head, head, {}, s.message);
    }
    if (kAnswers == Answers::kAtTheEnd) {
      for (Sent& s : sent) {
        s.answer = rule_.Reply(s.head, node(s.head.level, s.head.row), {}, s.message);
      }
    }
    if (kAnswers != Answers::kNone) {
      for (Sent& s : sent) {
        rule_.Settle(s.tail, node(s.tail.level, s.tail.row), s.port, s.answer, tally_);
      }
    }
    for (auto& [place, ending] : nodes_) {
      const At at{step_, place.first, place.second};
      if (rule_.Active(at, ending)) rule_.End(at, ending, tally_);
    }
    ++step_;
  }

 private:
  const Network& network_;
  const Rule& rule_;
  uint64_t step_ = 0;
  typename Rule::Tally tally_{};
  std::map<std::pair<int, Row>, Node> nodes_;
};

Network MultibutterflyOf(uint32_t rows, int multiplicity) {
  return *Network::Make({.kind = NetworkKind::kMultibutterfly,
                         .rows = rows,
                         .seed = 5,
                         .multiplicity = multiplicity});
}

template <typename Steps>
void Begin(const Network& network, Steps& steps) {
  for (Row row = 0; row < network.rows(); row += 3) {
    steps.node(0, row).fold = Mix(row, 1);
    steps.node(0, row).energy = 5;
  }
}

template <Answers kAnswers>
void EqualsPlainSteps(const Network& network) {
  const Folding<kAnswers> rule{.ports = network.ports()};
  for (const auto& [workers, blocks] :
       std::vector<std::pair<int, uint32_t>>{{1, 1}, {1, 5}, {2, 0}, {2, 7}, {3, 0}, {3, 1000}}) {
    Crew crew(workers);
    StepClock<Folding<kAnswers>> clock(network, rule, crew, blocks);
    PlainSteps<kAnswers> plain(network, rule);
    Begin(network, clock);
    Begin(network, plain);
    for (Row row = 0; row < network.rows(); ++row) clock.Wake(0, row);
    for (int step = 0; step < 12; ++step) {
      clock.Step();
      plain.Step();
      for (int level = 0; level <= network.hops(); ++level) {
        uint64_t active = 0;
        for (Row row = 0; row < network.rows(); ++row) {
          const auto& node = plain.node(level, row);
          ASSERT_EQ(clock.node(level, row).fold, node.fold)
              << workers << " workers, " << blocks << " blocks, step " << step << ", level "
              << level << ", row " << row;
          active += node.energy > 0;
        }
        ASSERT_EQ(clock.ActiveNodes(level), active);
      }
    }
    EXPECT_GT(clock.tally().moves, 1000u);
    EXPECT_EQ(clock.tally().sum, plain.sum());
  }
}

// Workers that own rectangles of levels and rows. This thread does the work of all of them, the
// last block first.
class OwningCrew final : public Crew {
 public:
  explicit OwningCrew(std::vector<NodeBlock> blocks) : Crew(1, std::move(blocks)) {}

 private:
  void Do(size_t count, const Call& call) override {
    while (count-- > 0) call(0, count);
  }
};

// `levels` and `rows` are where blocks begin; the rows are cut where the level is odd.
std::vector<NodeBlock> Rectangles(const Network& network, const std::vector<int>& levels,
                                  const std::vector<Row>& rows) {
  std::vector<NodeBlock> blocks;
  for (size_t i = 0; i < levels.size(); ++i) {
    const int end = i + 1 < levels.size() ? levels[i + 1] : network.hops() + 1;
    if (levels[i] % 2 == 0) {
      blocks.push_back({levels[i], end, 0, network.rows()});
      continue;
    }
    for (size_t j = 0; j < rows.size(); ++j) {
      blocks.push_back(
          {levels[i], end, rows[j], j + 1 < rows.size() ? rows[j + 1] : network.rows()});
    }
  }
  return blocks;
}

template <Answers kAnswers>
void EqualsPlainStepsInRectangles(const Network& network, std::vector<NodeBlock> blocks) {
  const Folding<kAnswers> rule{.ports = network.ports()};
  OwningCrew crew(std::move(blocks));
  StepClock<Folding<kAnswers>> clock(network, rule, crew);
  PlainSteps<kAnswers> plain(network, rule);
  Begin(network, clock);
  Begin(network, plain);
  for (Row row = 0; row < network.rows(); ++row) clock.Wake(0, row);
  for (int step = 0; step < 12; ++step) {
    clock.Step();
    plain.Step();
    for (int level = 0; level <= network.hops(); ++level) {
      uint64_t active = 0;
      for (Row row = 0; row < network.rows(); ++row) {
        const auto& node = plain.node(level, row);
        ASSERT_EQ(clock.node(level, row).fold, node.fold)
            << "step " << step << ", level " << level << ", row " << row;
        active += node.energy > 0;
      }
      ASSERT_EQ(clock.ActiveNodes(level), active);
    }
  }
  EXPECT_EQ(clock.tally().sum, plain.sum());
  EXPECT_GT(plain.sum(), 0u);
}

TEST(StepClock, EqualsPlainStepsWhereWorkersOwnLevelsAndRows) {
  const Network network = MultibutterflyOf(128, 2);
  for (const std::vector<int>& levels : std::vector<std::vector<int>>{
           {0}, {0, 2}, {0, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 3, 4}, {0, 5, 6, 7}}) {
    for (const std::vector<Row>& rows :
         std::vector<std::vector<Row>>{{0, 64}, {0, 1, 70, 127}, {0, 33}}) {
      EqualsPlainStepsInRectangles<Answers::kNone>(network, Rectangles(network, levels, rows));
      EqualsPlainStepsInRectangles<Answers::kAtTheEnd>(network, Rectangles(network, levels, rows));
      EqualsPlainStepsInRectangles<Answers::kAtOnce>(network, Rectangles(network, levels, rows));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  // All nodes of a row have one owner.
  EqualsPlainStepsInRectangles<Answers::kAtTheEnd>(
      network, {{0, 8, 100, 128}, {0, 8, 0, 7}, {0, 8, 7, 100}});
}

TEST(StepClock, EqualsPlainStepsWithoutAnswers) {
  EqualsPlainSteps<Answers::kNone>(MultibutterflyOf(64, 3));
  EqualsPlainSteps<Answers::kNone>(
      *Network::Make({.kind = NetworkKind::kWrappedButterfly, .rows = 128, .passes = 2}));
}

TEST(StepClock, EqualsPlainStepsWithAnswers) {
  EqualsPlainSteps<Answers::kAtTheEnd>(MultibutterflyOf(128, 2));
  EqualsPlainSteps<Answers::kAtTheEnd>(
      *Network::Make({.kind = NetworkKind::kButterfly, .rows = 256}));
}

TEST(StepClock, EqualsPlainStepsWithAnswersAtOnce) {
  EqualsPlainSteps<Answers::kAtOnce>(MultibutterflyOf(128, 2));
}

// A token goes straight on, one level a step, in odd steps only. A token that meets a wall at level
// `wall` stays.
struct Token {
  struct Node {
    bool holds = false;
  };
  struct Message {};
  using Answer = bool;
  using Tally = StepTally;
  static constexpr bool kAnswersAtOnce = true;

  int wall = 100;

  bool LevelSends(uint64_t step, int) const { return step % 2 == 1; }
  template <typename Out>
  void Send(const At& at, Node&, Out& out) const {
    out.Put(static_cast<int>(at.row & 1), {});
  }
  void Receive(const At& at, Node& node, const InLink&, const Message&, Tally& tally) const {
    if (at.level == wall) return;
    node.holds = true;
    ++tally.moves;
  }
  bool Reply(const At& at, Node&, const InLink&, const Message&) const { return at.level != wall; }
  void Settle(const At&, Node& node, int, const bool& taken, Tally&) const {
    if (taken) node.holds = false;
  }
  int Active(const At& at, const Node& node) const { return node.holds && at.level < 4; }
};

StepEnd EndOf(const Token& token, const StepLimits& limits, uint64_t& steps) {
  const absl::StatusOr<Network> network =
      Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  Crew crew(1);
  StepClock<Token> clock(*network, token, crew);
  clock.node(0, 15).holds = true;
  clock.Wake(0, 15);
  const StepEnd end = clock.Run(limits);
  steps = clock.step();
  return end;
}

TEST(StepClock, EndsWhenNoNodeIsActive) {
  uint64_t steps = 0;
  EXPECT_EQ(EndOf({}, {}, steps), StepEnd::kDone);
  EXPECT_EQ(steps, 8u);  // 4 levels, every second step
}

TEST(StepClock, EndsAtItsLimits) {
  uint64_t steps = 0;
  EXPECT_EQ(EndOf({}, {.steps = 3}, steps), StepEnd::kLimit);
  EXPECT_EQ(steps, 3u);
  // The token crosses two levels in steps 0..3. Then nothing moves.
  EXPECT_EQ(EndOf({.wall = 3}, {.idle_steps = 6}, steps), StepEnd::kStuck);
  EXPECT_EQ(steps, 4u + 6u);
}

}  // namespace
}  // namespace bfly::dataplane
