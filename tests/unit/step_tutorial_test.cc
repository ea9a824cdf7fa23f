// SPDX-License-Identifier: Apache-2.0
// The program of docs/steps.md, "A program of your own".
#include "dataplane/steps/step_clock.h"
#include "dataplane/steps/step_rule.h"
#include "gtest/gtest.h"
#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::dataplane {
namespace {

// A node that hears the news tells every node behind its links, once.
struct Flood {
  struct Node {
    bool heard = false;
    bool told = false;
  };
  struct Message {};
  using Answer = NoAnswer;
  using Tally = StepTally;

  int hops = 0;

  int Active(const At& at, const Node& node) const {
    return node.heard && !node.told && at.level < hops;
  }
  template <typename Out>
  void Send(const At&, Node& node, Out& out) const {
    out.Put(0, {});
    out.Put(1, {});
    node.told = true;
  }
  void Receive(const At&, Node& node, const InLink&, const Message&, Tally& tally) const {
    if (!node.heard) ++tally.moves;
    node.heard = true;
  }
};
static_assert(StepRule<Flood>);

// From one input of a butterfly lead paths to 2^l nodes of level l.
TEST(StepTutorial, NewsDoubleWithEveryLevelOfAButterfly) {
  const absl::StatusOr<Network> network =
      Network::Make({.kind = NetworkKind::kButterfly, .rows = 64});
  const Flood rule{.hops = network->hops()};
  Crew crew(2);
  StepClock<Flood> clock(*network, rule, crew);
  clock.node(0, 5).heard = true;
  clock.Wake(0, 5);
  EXPECT_EQ(clock.Run({.steps = 100, .idle_steps = 1}), StepEnd::kDone);
  EXPECT_EQ(clock.step(), 6u);
  for (int level = 0; level <= network->hops(); ++level) {
    int heard = 0;
    for (Row row = 0; row < network->rows(); ++row) heard += clock.node(level, row).heard;
    EXPECT_EQ(heard, 1 << level);
  }
}

}  // namespace
}  // namespace bfly::dataplane
