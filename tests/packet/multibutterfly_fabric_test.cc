// SPDX-License-Identifier: Apache-2.0
// Fabrics whose ports of a direction lead to different rows, and fabrics with extra stages.
#include <gtest/gtest.h>

#include "tests/packet/fabric_fixture.h"
#include "topologies/faulty_switches.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kRows = 16;
constexpr int kStages = 4;

FabricConfig Wired(FabricConfig config, int multiplicity, PortRule rule) {
  config.network.multiplicity = multiplicity;
  config.network.rule = rule;
  return config;
}

// All stages on one worker, each stage on another one than the stage before, and halves of rows.
std::vector<FabricConfig> Placements(int multiplicity, PortRule rule) {
  const NetworkKind kind = NetworkKind::kMultibutterfly;
  const int other = OtherCpu();
  return {Wired(OneWorker(kind, kRows), multiplicity, rule),
          Wired(Placed(kind, kRows, {0, other, 0, other}), multiplicity, rule),
          Wired(Halves(kind, kRows), multiplicity, rule)};
}

// What the links of a fabric counted after `each` packets for every pair of rows. Which port a node
// took is the rule's affair; what came to a node and left it is not.
void ExpectFlow(const Network& network, const Snapshot& s, uint64_t each) {
  const auto packets = [&](int stage, Row row, int port) {
    return s.links[network.link_index({stage, row, port})].packets;
  };
  std::vector<uint64_t> at(kRows, each * kRows);  // packets that reached each node of the level
  for (int stage = 0; stage < kStages; ++stage) {
    std::vector<uint64_t> next(kRows);
    for (Row row = 0; row < kRows; ++row) {
      uint64_t left = 0;
      for (int port = 0; port < network.ports(); ++port) {
        left += packets(stage, row, port);
        next[network.next_row(stage, row, port)] += packets(stage, row, port);
      }
      EXPECT_EQ(left, at[row]) << "node " << stage << "." << row;
    }
    at = next;
    // Every output gets as many packets, so every block of rows that a side of a splitter leads to
    // gets its share.
    const Row block = kRows >> (stage + 1);
    for (Row first = 0; first < kRows; first += block) {
      EXPECT_EQ(std::accumulate(at.begin() + first, at.begin() + first + block, uint64_t{0}),
                each * kRows * block);
    }
  }
}

TEST(MultibutterflyFabric, DeliversEverythingUnderEveryRuleAndPlacement) {
  for (const PortRule rule : AllRules()) {
    for (const int multiplicity : {2, 3, 4}) {
      for (const FabricConfig& config : Placements(multiplicity, rule)) {
        SCOPED_TRACE(testing::Message() << RuleName(rule) << ", " << multiplicity << " links, "
                                        << config.placement.size() << " placements");
        const std::unique_ptr<Fabric> fabric = MustLoad(config);
        ASSERT_NE(fabric, nullptr);
        std::vector<SourceConfig> sources = AllPairs(fabric->network());
        for (SourceConfig& source : sources) source.packets = 5;
        ASSERT_TRUE(fabric->SetSources(sources).ok());
        const Snapshot done = WaitForDeliveries(*fabric, 5 * kRows * kRows);
        EXPECT_EQ(done.conservation.delivered, 5 * kRows * kRows);
        EXPECT_EQ(done.conservation.in_flight, 0u);
        ExpectFlow(fabric->network(), done, 5);
      }
    }
  }
}

TEST(MultibutterflyFabric, RoundRobinSharesADirectionWithinOnePacket) {
  for (const FabricConfig& config : Placements(3, PortRule::kRoundRobin)) {
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
    const Snapshot done = WaitForDeliveries(*fabric, kRows * kRows);
    for (size_t first = 0; first < done.links.size(); first += 3) {
      for (size_t port = 1; port < 3; ++port) {
        const uint64_t before = done.links[first + port - 1].packets;
        const uint64_t here = done.links[first + port].packets;
        EXPECT_TRUE(here == before || here + 1 == before) << before << " then " << here;
      }
    }
  }
}

// Node 0 of level 3 is down, and so is the link from node 2 of level 2 to the other switch before
// the outputs 0 and 1. No fault is next to the nodes of level 1, and every pair still has a path.
TEST(MultibutterflyFabric, PacketsGoAroundSwitchesThatCountAsFaulty) {
  for (const PortRule rule : AllRules()) {
    for (FabricConfig config : Placements(2, rule)) {
      config.network.parallel_edges = ParallelEdges::kAvoid;
      for (const bool avoid : {false, true}) {
        SCOPED_TRACE(testing::Message() << RuleName(rule) << (avoid ? " avoids" : " does not"));
        const std::unique_ptr<Fabric> fabric = MustLoad(config);
        ASSERT_NE(fabric, nullptr);
        const Network& network = fabric->network();
        FaultSet faults(network);
        faults.SetNodeUp({3, 0}, false);
        for (const int port : {0, 1}) {
          if (network.next_row(2, 2, port) == 1) faults.SetLinkUp({2, 2, port}, false);
        }
        const FaultySwitches switches(faults);
        EXPECT_EQ(switches.up_but_faulty(), std::vector<NodeId>{(NodeId{2, 2})});
        const std::vector<uint64_t> to_avoid = switches.links_to_avoid();
        ASSERT_FALSE(to_avoid.empty());
        for (const uint64_t link : to_avoid) {
          EXPECT_EQ(network.link_at(link).stage, 1);
          const LinkId at = network.link_at(link);
          EXPECT_EQ(network.next_row(1, at.row, at.port), 2u);
        }
        for (const LinkId& link : faults.blocked_links()) {
          ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
        }
        if (avoid) fabric->AvoidLinks(to_avoid);
        std::vector<SourceConfig> sources = AllPairs(network);
        for (SourceConfig& source : sources) source.packets = 20;
        ASSERT_TRUE(fabric->SetSources(sources).ok());
        const Snapshot done = WaitForDeliveries(*fabric, 20 * kRows * kRows);
        EXPECT_EQ(done.conservation.in_flight, 0u);
        if (avoid) {
          EXPECT_EQ(done.conservation.delivered, 20 * kRows * kRows);
        } else if (rule == PortRule::kRoundRobin || rule == PortRule::kRandom) {
          EXPECT_GT(DroppedBy(done, DropReason::kLinkDown), 0u);
        }
      }
    }
  }
}

TEST(MultibutterflyFabric, CircuitsKeepTheirPorts) {
  for (const int multiplicity : {1, 2, 3}) {
    for (FabricConfig config : Placements(multiplicity, PortRule::kRoundRobin)) {
      if (multiplicity == 1) config.network.rule.reset();
      const std::unique_ptr<Fabric> fabric = MustLoad(config);
      ASSERT_NE(fabric, nullptr);
      const Network& network = fabric->network();
      std::vector<uint64_t> expected(network.link_count());
      for (Row input = 0; input < kRows; ++input) {
        const Row output = input ^ 5;
        std::vector<int> ports;
        Row row = input;
        for (int stage = 0; stage < kStages; ++stage) {
          const int direction = static_cast<int>(output >> (kStages - 1 - stage) & 1);
          const auto number = static_cast<int>(
              RandomBelow(3, RandomStream::kTest, input * 10 + stage, multiplicity));
          ports.push_back(direction * multiplicity + number);
          expected[network.link_index({stage, row, ports.back()})] += 20;
          row = network.next_row(stage, row, ports.back());
        }
        ASSERT_EQ(row, output);
        ASSERT_TRUE(fabric->InstallCircuit(input, *TagOfPorts(network, ports)).ok());
      }
      ASSERT_TRUE(fabric->SetSources({{.rows = AllRows(kRows), .packets = 20}}).ok());
      const Snapshot done = WaitForDeliveries(*fabric, 20 * kRows);
      EXPECT_EQ(done.conservation.delivered, 20 * kRows);
      EXPECT_EQ(PacketCounts(done), expected);
    }
  }
}

TEST(MultibutterflyFabric, ALinkThatIsDownLosesNothingWhileAnotherOfItsDirectionIsUp) {
  for (const PortRule rule : AllRules()) {
    for (const FabricConfig& config : Placements(2, rule)) {
      const std::unique_ptr<Fabric> fabric = MustLoad(config);
      ASSERT_NE(fabric, nullptr);
      for (int stage = 0; stage < kStages; ++stage) {
        for (Row row = 0; row < kRows; ++row) {
          ASSERT_TRUE(fabric->SetLinkUp({stage, row, static_cast<int>(row & 1)}, false).ok());
          ASSERT_TRUE(fabric->SetLinkUp({stage, row, 2 + stage % 2}, false).ok());
        }
      }
      ASSERT_TRUE(fabric->SetSources(AllPairs(fabric->network())).ok());
      const Snapshot done = WaitForDeliveries(*fabric, kRows * kRows);
      EXPECT_EQ(done.conservation.delivered, kRows * kRows);
      ExpectFlow(fabric->network(), done, 1);
      for (int stage = 0; stage < kStages; ++stage) {
        for (Row row = 0; row < kRows; ++row) {
          for (const int port : {static_cast<int>(row & 1), 2 + stage % 2}) {
            EXPECT_EQ(done.links[fabric->network().link_index({stage, row, port})].packets, 0u);
          }
        }
      }
    }
  }
}

FabricConfig WithExtraStages(int extra, bool halves) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, kRows);
  config.network.extra_stages = extra;
  config.placement[0].last_stage = kStages + extra - 1;
  if (!halves) return config;
  config.placement.push_back(config.placement[0]);
  config.placement[0].rows = {0, kRows / 2 - 1};
  config.placement[1].rows = {kRows / 2, kRows - 1};
  config.placement[1].lcore = UsableCpus()[OtherCpu()];
  return config;
}

TEST(ExtraStagesFabric, EveryPacketFollowsItsPath) {
  for (const int extra : {1, 3, 4, 6}) {
    for (const bool halves : {false, true}) {
      SCOPED_TRACE(testing::Message() << extra << " extra stages, halves: " << halves);
      const std::unique_ptr<Fabric> fabric = MustLoad(WithExtraStages(extra, halves));
      ASSERT_NE(fabric, nullptr);
      SendAllPairs(*fabric);
    }
  }
}

TEST(ExtraStagesFabric, ACircuitMayTurnInThem) {
  const std::unique_ptr<Fabric> fabric = MustLoad(WithExtraStages(2, true));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  std::vector<std::pair<Row, Tag>> sent;
  for (Row input = 0; input < kRows; ++input) {
    // Row 2 of the four that the extra stages lead to; then positions 3, 4, 1, 2 of the output.
    const Row output = input ^ 0b1010;
    const Tag tag = Tag{0b10} << 4 | (output & 3) << 2 | output >> 2;
    ASSERT_TRUE(fabric->InstallCircuit(input, tag).ok());
    sent.insert(sent.end(), 3, {input, tag});
    EXPECT_EQ(WalkTag(network, input, tag).back(), output);
  }
  ASSERT_TRUE(fabric->SetSources({{.rows = AllRows(kRows), .packets = 3}}).ok());
  const Snapshot done = WaitForDeliveries(*fabric, 3 * kRows);
  EXPECT_EQ(done.conservation.delivered, 3 * kRows);
  EXPECT_EQ(PacketCounts(done), WalkedCounts(network, sent));
}

}  // namespace
}  // namespace bfly::dataplane
