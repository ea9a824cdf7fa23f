// SPDX-License-Identifier: Apache-2.0
// Lost pairs and faulty switches, compared with a search along every path and with the rule applied
// to one switch after the other until nothing changes.
#include "topologies/lost_pairs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "topologies/faulty_switches.h"

namespace bfly {
namespace {

std::vector<Network> SmallNetworks(uint64_t seed) {
  std::vector<Network> networks;
  for (const NetworkKind kind : AllKinds()) {
    for (const uint32_t rows : {2u, 8u, 16u}) {
      for (int passes = 1; passes <= (kind == NetworkKind::kWrappedButterfly ? 2 : 1); ++passes) {
        for (int multiplicity = 1; multiplicity <= (kind == NetworkKind::kDilatedButterfly ? 3 : 1);
             ++multiplicity) {
          networks.push_back(*Network::Make({.kind = kind,
                                             .rows = rows,
                                             .seed = seed,
                                             .passes = passes,
                                             .multiplicity = multiplicity}));
        }
      }
    }
  }
  return networks;
}

FaultSet DrawFaults(const Network& network, std::mt19937_64& random) {
  FaultSet faults(network);
  const uint64_t links = random() % (network.link_count() / 4 + 2);
  for (uint64_t i = 0; i < links; ++i) {
    faults.SetLinkUp(network.link_at(random() % network.link_count()), false);
  }
  for (uint64_t nodes = random() % 4; nodes > 0; --nodes) {
    faults.SetNodeUp({static_cast<int>(random() % static_cast<uint64_t>(network.levels())),
                      static_cast<Row>(random() % network.rows())},
                     false);
  }
  return faults;
}

// The outputs that paths from a node lead to over links that `may_cross` allows.
template <typename MayCross>
void Walk(const Network& network, int hop, Row row, const MayCross& may_cross,
          std::set<Row>& outputs) {
  if (hop == network.hops()) {
    outputs.insert(row);
    return;
  }
  const int stage = network.stage_of_hop(hop);
  std::set<Row> heads;
  for (int port = 0; port < network.ports(); ++port) {
    if (may_cross(LinkId{stage, row, port})) heads.insert(network.next_row(stage, row, port));
  }
  for (const Row head : heads) Walk(network, hop + 1, head, may_cross, outputs);
}

class SlowSwitches {
 public:
  explicit SlowSwitches(const FaultSet& faults) : faults_(faults), network_(faults.network()) {
    for (Row input = 0; input < network_.rows(); ++input) {
      Walk(
          network_, 0, input, [&](LinkId link) { return IsAlive(link); }, reached_);
    }
    while (FindOneMore()) {
    }
  }
  bool counts(int hop, Row row) const { return faulty_.count({hop, row}) != 0; }
  const std::set<Row>& reached() const { return reached_; }

 private:
  bool IsAlive(LinkId link) const { return !faults_.blocks(network_.link_index(link)); }

  bool FindOneMore() {
    for (int hop = 0; hop < network_.hops(); ++hop) {
      for (Row row = 0; row < network_.rows(); ++row) {
        if (!counts(hop, row) && MustCount(hop, row)) return faulty_.insert({hop, row}).second;
      }
    }
    return false;
  }

  bool MustCount(int hop, Row row) const {
    const int stage = network_.stage_of_hop(hop);
    if (faults_.is_down(NodeId{stage, row})) return true;
    int stuck = 0;
    for (int direction = 0; direction < 2; ++direction) {
      bool leads_on = false;
      std::set<Row> outputs;
      for (int port = 0; port < network_.ports(); ++port) {
        if (network_.direction_of(port) != direction) continue;
        const Row head = network_.next_row(stage, row, port);
        if (IsAlive({stage, row, port}) && !counts(hop + 1, head)) leads_on = true;
        Walk(
            network_, hop + 1, head, [](LinkId) { return true; }, outputs);
      }
      bool wanted = hop < network_.hops() - network_.dimension();
      for (const Row output : outputs) wanted |= reached_.count(output) != 0;
      if (wanted && !leads_on) ++stuck;
    }
    return stuck > (hop < network_.hops() - network_.dimension() ? 1 : 0);
  }

  const FaultSet& faults_;
  const Network& network_;
  std::set<Row> reached_;
  std::set<std::pair<int, Row>> faulty_;
};

TEST(LostPairs, AreThoseWithoutAPathInASearchAlongAllPaths) {
  std::mt19937_64 random(11);
  uint64_t lost_in_all = 0;
  for (int round = 0; round < 12; ++round) {
    for (const Network& network : SmallNetworks(static_cast<uint64_t>(round))) {
      const FaultSet faults = DrawFaults(network, random);
      std::vector<RowPair> expected;
      std::vector<Row> inputs;
      std::set<Row> reached;
      for (Row input = 0; input < network.rows(); ++input) {
        std::set<Row> outputs;
        Walk(
            network, 0, input,
            [&](LinkId link) { return !faults.blocks(network.link_index(link)); }, outputs);
        if (outputs.empty()) inputs.push_back(input);
        reached.insert(outputs.begin(), outputs.end());
        for (Row output = 0; output < network.rows(); ++output) {
          if (outputs.count(output) == 0) expected.push_back({input, output});
        }
      }
      std::vector<Row> outputs;
      for (Row output = 0; output < network.rows(); ++output) {
        if (reached.count(output) == 0) outputs.push_back(output);
      }
      const LostPairs lost = FindLostPairs(faults, 1000);
      const auto where = [&] { return KindName(network.kind()); };
      EXPECT_TRUE(lost.exact);
      ASSERT_EQ(lost.pairs, expected.size()) << where();
      ASSERT_EQ(lost.examples, expected) << where();
      ASSERT_EQ(lost.inputs, inputs) << where();
      ASSERT_EQ(lost.outputs, outputs) << where();
      lost_in_all += lost.pairs;
    }
  }
  EXPECT_GT(lost_in_all, 1000u);
}

TEST(FaultySwitches, AreThoseThatTheRuleFindsOneByOne) {
  std::mt19937_64 random(12);
  int faulty = 0;
  for (int round = 0; round < 6; ++round) {
    for (const Network& network : SmallNetworks(static_cast<uint64_t>(round))) {
      const FaultSet faults = DrawFaults(network, random);
      const SlowSwitches slow(faults);
      const FaultySwitches switches(faults);
      for (Row output = 0; output < network.rows(); ++output) {
        ASSERT_EQ(switches.reached()[output], slow.reached().count(output) != 0);
      }
      std::vector<NodeId> up_but_faulty;
      for (int level = 0; level < network.stages(); ++level) {
        for (Row row = 0; row < network.rows(); ++row) {
          bool counts = false;
          for (int hop = level; hop < network.hops(); hop += network.stages()) {
            ASSERT_EQ(switches.counts(hop, row), slow.counts(hop, row))
                << KindName(network.kind()) << " " << network.rows() << " hop " << hop << " row "
                << row;
            counts |= slow.counts(hop, row);
          }
          if (counts && !faults.is_down(NodeId{level, row})) up_but_faulty.push_back({level, row});
        }
      }
      ASSERT_EQ(switches.up_but_faulty(), up_but_faulty);
      faulty += static_cast<int>(up_but_faulty.size());
    }
  }
  EXPECT_GT(faulty, 100);
}

}  // namespace
}  // namespace bfly
