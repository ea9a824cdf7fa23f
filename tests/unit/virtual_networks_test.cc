// SPDX-License-Identifier: Apache-2.0
// Multibutterflies, extra stages and faults under the virtual clock, against a plain event-driven
// simulation, against queues with known delays, and against loads that are counted path by path.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/plain_packets.h"
#include "topologies/permutation.h"

namespace bfly::dataplane {
namespace {

TEST(VirtualMultibutterfly, CarriesEveryPacketAsAPlainSimulationDoes) {
  for (const PortRule rule :
       {PortRule::kFirstFree, PortRule::kRoundRobin, PortRule::kLeastOccupied}) {
    for (const int multiplicity : {2, 3}) {
      SCOPED_TRACE(testing::Message() << RuleName(rule) << " of " << multiplicity);
      const Network network = Multibutterfly(16, multiplicity, rule);
      VirtualConfig config = ConfigOfNetwork(1.5 * multiplicity, 60);
      ExpectAsPlain(network, config);
      // Slots of a unit: most packets come to a node in one moment.
      config.arrivals.process = ArrivalConfig::Process::kSlotBatch;
      config.slots_per_unit = 1;
      ExpectAsPlain(network, config);
    }
  }
  // One link a direction runs on the fast engine, and on the general one if stages are measured.
  VirtualConfig config = ConfigOfNetwork(1.5, 100);
  ExpectAsPlain(Multibutterfly(16, 1), config);
  config.stage_percentiles = true;
  ExpectAsPlain(Multibutterfly(16, 1), config);
}

TEST(VirtualMultibutterfly, IsTheSameForAnyWorkersAndWindows) {
  for (const PortRule rule : AllRules()) {
    ExpectSameForAnyWorkers(Multibutterfly(32, 2, rule), ConfigOfNetwork(2.5, 25));
  }
  VirtualConfig config = ConfigOfNetwork(2.5, 25);
  config.discipline = Discipline::kPriority;
  config.class_shares = {.25, .75};
  ExpectSameForAnyWorkers(Multibutterfly(32, 2), config);
}

TEST(VirtualMultibutterfly, WithTheButterflysSplittersIsTheButterfly) {
  const Network butterfly = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
  int found = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Network drawn =
        *Network::Make({.kind = NetworkKind::kMultibutterfly, .rows = 4, .seed = seed});
    bool same = true;
    for (uint64_t link = 0; link < butterfly.link_count(); ++link) {
      const LinkId id = butterfly.link_at(link);
      same &= drawn.next_row(id.stage, id.row, id.port) ==
              butterfly.next_row(id.stage, id.row, id.port);
    }
    // Other wirings carry the same packets over other links.
    const VirtualConfig config = ConfigOfNetwork(1.7, 100);
    const VirtualResult a = Carried(drawn, config), b = Carried(butterfly, config);
    EXPECT_EQ(a.link_packets == b.link_packets, same);
    EXPECT_TRUE(!same || a.mean_delay == b.mean_delay);
    found += same;
  }
  // A wiring is the butterfly's with probability 1 / 36.
  EXPECT_GT(found, 0);
}

TEST(VirtualNetworks, DelayWithoutLoadIsTheNumberOfHops) {
  for (const auto& [network, hops] : {std::pair(Multibutterfly(64, 2), 6),
                                      {Multibutterfly(64, 1), 6},
                                      {WithExtraStages(64, 5), 11}}) {
    const VirtualResult run = Carried(network, ConfigOfNetwork(1e-5, 2e7));
    EXPECT_GT(run.measured, 10000u);
    EXPECT_NEAR(run.mean_delay, hops, 1e-3);
    EXPECT_NEAR(run.p50, hops, .01 * hops);
  }
}

// A fair coin, or a rule that draws, makes Poisson processes of a Poisson process. So every link of
// the first stage is M/D/1: its packets take 1 + rho / (2 (1 - rho)). The rule least_occupied makes
// one M/D/2 of the two links of a direction (THEORY.md 1.6: 1.17674 at a load of 0.5 a link).
TEST(VirtualNetworks, FirstStagesAreQueuesOfKnownDelay) {
  const auto first_stage = [](const Network& network, double rate) {
    VirtualConfig config = ConfigOfNetwork(rate, 8000);
    config.stage_percentiles = true;
    return Carried(network, config).stage_delay[0];
  };
  for (const double rho : {0.3, 0.6}) {
    const double md1 = 1 + rho / (2 * (1 - rho));
    EXPECT_NEAR(first_stage(Multibutterfly(16, 2, PortRule::kRandom), 4 * rho), md1, .01 * md1);
    EXPECT_NEAR(first_stage(Multibutterfly(16, 1), 2 * rho), md1, .01 * md1);
    EXPECT_NEAR(first_stage(WithExtraStages(16, 2), 2 * rho), md1, .01 * md1);
  }
  EXPECT_NEAR(first_stage(Multibutterfly(16, 2, PortRule::kLeastOccupied), 2), 1.17674, .012);
}

TEST(VirtualExtraStages, PacketsTakeFairAndIndependentTurnsAndArrive) {
  constexpr int kExtra = 3, kDimension = 5;
  const Network network = WithExtraStages(1 << kDimension, kExtra);
  VirtualConfig config = ConfigOfNetwork(1, 0);
  config.fixed = *PermutationByName("bitrev", network.rows(), 0);
  const std::vector<BornPacket> packets = BornBefore(network, config, 1000 * kTicksOfUnit);
  std::vector<double> with_turns(1 << kExtra);
  for (const BornPacket& packet : packets) {
    ++with_turns[packet.directions >> kDimension];
    ASSERT_EQ(OutputOf(network, packet), config.fixed[packet.row]);
  }
  const double expected = static_cast<double>(packets.size()) / (1 << kExtra);
  for (const double count : with_turns) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  // Other seeds, rows and packets take other turns.
  config.arrivals.seed = 6;
  const std::vector<BornPacket> others = BornBefore(network, config, 1000 * kTicksOfUnit);
  int same = 0;
  for (size_t i = 0; i < 1000; ++i) same += others[i].directions == packets[i].directions;
  EXPECT_NEAR(same, 1000.0 / (1 << kExtra), 60);
}

// What each link carries of one packet a row, in the mean: all 2^r paths of each pair, walked.
std::vector<double> LoadByCounting(const Network& network, const std::vector<Row>& outputs) {
  std::vector<double> load(network.link_count());
  const int extra = network.extra_hops(), d = network.dimension();
  for (Row input = 0; input < network.rows(); ++input) {
    for (uint32_t turns = 0; turns < 1u << extra; ++turns) {
      // Only the right directions of the last hops lead to the output.
      Row row = input;
      std::vector<uint64_t> path;
      for (int stage = 0; stage < network.stages(); ++stage) {
        const int position = stage % d;  // from the left
        const int port = stage < extra ? static_cast<int>(turns >> stage & 1)
                                       : static_cast<int>(outputs[input] >> (d - 1 - position) & 1);
        path.push_back(network.link_index({stage, row, port}));
        row = (row & ~(Row{1} << (d - 1 - position))) | static_cast<Row>(port)
                                                            << (d - 1 - position);
      }
      EXPECT_EQ(row, outputs[input]);
      for (const uint64_t link : path) load[link] += std::ldexp(1.0, -extra);
    }
  }
  return load;
}

TEST(VirtualExtraStages, SpreadTheLoadOfBitReversalAsCountingSays) {
  // By hand: bit reversal puts 4 packets on a link of B_64, and each extra stage halves that, until
  // a link gets what it gets of uniform traffic.
  for (const auto& [extra, most] :
       std::map<int, double>{{0, 4}, {1, 2}, {2, 1}, {3, .5}, {6, .5}}) {
    const Network network = WithExtraStages(64, extra);
    VirtualConfig config = ConfigOfNetwork(0.2, 20000);
    config.fixed = *PermutationByName("bitrev", network.rows(), 0);
    const std::vector<double> load = LoadByCounting(network, config.fixed);
    const VirtualResult run = Carried(network, config);
    for (uint64_t link = 0; link < network.link_count(); ++link) {
      const double expected = load[link] * config.arrivals.rate * config.duration;
      ASSERT_NEAR(static_cast<double>(run.link_packets[link]), expected,
                  6 * std::sqrt(expected) + 1e-9)
          << "link " << link << " with " << extra << " extra stages";
    }
    EXPECT_EQ(*std::max_element(load.begin(), load.end()), most) << extra;
  }
}

TEST(VirtualFaults, CarryPacketsAroundThemAsAPlainSimulationDoes) {
  for (const PortRule rule :
       {PortRule::kFirstFree, PortRule::kRoundRobin, PortRule::kLeastOccupied}) {
    SCOPED_TRACE(RuleName(rule));
    const Network network = Multibutterfly(32, 3, rule);
    FaultSet faults(network);
    for (const NodeId node : {NodeId{1, 3}, {2, 17}, {3, 30}, {0, 9}})
      faults.SetNodeUp(node, false);
    for (const LinkId link : {LinkId{0, 4, 2}, {1, 20, 5}, {4, 8, 0}, {4, 8, 1}}) {
      faults.SetLinkUp(link, false);
    }
    VirtualConfig config = ConfigOfNetwork(2.5, 20);
    config.faults = &faults;
    ExpectAsPlain(network, config);
    ExpectSameForAnyWorkers(network, config);
    const VirtualResult run = Carried(network, config);
    EXPECT_GT(run.left_out, 0u);
    for (const LinkId& link : faults.blocked_links()) {
      EXPECT_EQ(run.link_packets[network.link_index(link)], 0u);
    }
  }
}

TEST(VirtualFaults, InExtraStagesPacketsTakeTheOtherDirection) {
  const Network network = WithExtraStages(16, 4);
  FaultSet faults(network);
  for (const NodeId node : {NodeId{1, 3}, {2, 9}, {4, 6}}) faults.SetNodeUp(node, false);
  VirtualConfig config = ConfigOfNetwork(0.8, 100);
  config.faults = &faults;
  ExpectAsPlain(network, config);
  const VirtualResult run = Carried(network, config);
  EXPECT_EQ(run.left_out, 0u);
  for (const LinkId& link : faults.blocked_links()) {
    EXPECT_EQ(run.link_packets[network.link_index(link)], 0u);
  }
}

TEST(VirtualFaults, OnAButterflyLeaveOutWhatHasNoPath) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  FaultSet faults(network);
  faults.SetLinkUp({2, 5, 0}, false);
  VirtualConfig config = ConfigOfNetwork(0.8, 100);
  config.faults = &faults;
  ExpectAsPlain(network, config);
  const Network other = WithExtraStages(8, 1);
  const FaultSet elsewhere(other);
  config.faults = &elsewhere;
  EXPECT_THAT(std::string(CheckVirtual(network, config).message()),
              testing::HasSubstr("faults: are about another network"));
}

}  // namespace
}  // namespace bfly::dataplane
