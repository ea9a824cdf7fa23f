// SPDX-License-Identifier: Apache-2.0
// The model of a rack against slow walks: every frame from every row to every row goes through the
// network alone, and every core is charged for what it does to the frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/rack/rack.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

constexpr double kReceive = 15, kEdge = 10, kHop = 1, kSend = 5, kRing = 8, kTrunkEnd = 12;
constexpr CoreCosts kWalkCosts = {.driver = kReceive + kSend,
                                  .receive_part = 0.75,
                                  .edge = kEdge,
                                  .hop = kHop,
                                  .far_hop = kHop,
                                  .timed_hop = kHop,
                                  .hand_over = 2 * kRing,
                                  .trunk = 2 * kTrunkEnd};
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// Servers that each have a part of the rows at all hops, and their cores.
struct Layout {
  int server_bits = 0;
  int block_bits = 0;  // of a server
  std::vector<int> group_of_hop;
  bool trunk_queues = false;
};

using Core = std::tuple<Row, int, Row>;  // server, group, block

// `groups` parts of the hops in order, as equal as can be.
std::vector<int> GroupOfHop(int hops, int groups) {
  std::vector<int> group_of_hop;
  for (int group = 0; group < groups; ++group) {
    group_of_hop.resize(static_cast<size_t>((group + 1) * hops / groups), group);
  }
  return group_of_hop;
}

int BitsOf(uint32_t power) { return power == 1 ? 0 : 1 + BitsOf(power / 2); }

// Nanoseconds of the core with the most work, for a frame of its rows.
double WalkToSlowest(const Network& network, const Layout& layout) {
  const int server_shift = BitsOf(network.rows()) - layout.server_bits;
  const auto core_of = [&](int hop, Row row) {
    const auto last = static_cast<int>(layout.group_of_hop.size()) - 1;
    return Core{row >> server_shift, layout.group_of_hop[std::min(hop, last)],
                row >> (server_shift - layout.block_bits)};
  };
  std::map<Core, double> ns;
  for (uint32_t tag = 0; tag < (1u << network.stages()); ++tag) {
    for (Row from = 0; from < network.rows(); ++from) {
      Row row = from;
      Core at = core_of(0, row);
      ns[at] += kReceive + kEdge;
      for (int hop = 0; hop < network.stages(); ++hop) {
        ns[at] += kHop;
        row = network.next_row(hop, row, static_cast<int>(tag >> hop & 1));
        const Core next = core_of(hop + 1, row);
        if (std::get<0>(next) != std::get<0>(at) && layout.trunk_queues) {
          ns[at] += kSend + kTrunkEnd;
          ns[next] += kReceive + kTrunkEnd;
        } else if (next != at) {  // over a ring, also to and from a core that works the trunks
          ns[at] += kRing;
          ns[next] += kRing;
        }
        at = next;
      }
      ns[at] += kSend;
    }
  }
  double slowest = 0;
  for (const auto& [core, of_core] : ns) slowest = std::max(slowest, of_core);
  const double frames_of_row = 1u << network.stages();
  return slowest / frames_of_row / (1u << (server_shift - layout.block_bits));
}

RackDemand DemandOf(const Network& network) {
  RackDemand demand{.rows = network.rows(), .gbps = 1000, .frame_bytes = 105};
  for (int stage = 0; stage < network.stages(); ++stage) {
    demand.positions.push_back(network.position_of_stage(stage));
  }
  return demand;
}

class RackWalk : public testing::TestWithParam<NetworkKind> {};

INSTANTIATE_TEST_SUITE_P(Networks, RackWalk,
                         testing::Values(NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                                         NetworkKind::kBenes),
                         [](const auto& network) { return std::string(KindName(network.param)); });

TEST_P(RackWalk, HandsAFrameOverOnceWhereItChangesItsGroup) {
  const Network network = *Network::Make({.kind = GetParam(), .rows = 16});
  for (int groups = 1; groups <= network.stages(); ++groups) {
    const std::vector<int> group_of_hop = GroupOfHop(network.stages(), groups);
    std::vector<int> hops_of_group;
    for (int group = 0; group < groups; ++group) {
      hops_of_group.push_back(
          static_cast<int>(std::count(group_of_hop.begin(), group_of_hop.end(), group)));
    }
    for (int block_bits = 0; block_bits <= 4; ++block_bits) {
      EXPECT_DOUBLE_EQ(
          SlowestCore(DemandOf(network), kGiB, kWalkCosts, hops_of_group, 1 << block_bits),
          WalkToSlowest(network, {.block_bits = block_bits, .group_of_hop = group_of_hop}))
          << groups << " groups, " << block_bits << " bits of blocks";
    }
  }
}

// At a load that nothing carries, the best way to share is the one whose slowest core needs least.
TEST_P(RackWalk, ChargesTrunksToTheGroupsOfTheHopsThatCross) {
  const Network network = *Network::Make({.kind = GetParam(), .rows = 8});
  constexpr int kCores = 8;
  for (int server_bits = 1; server_bits <= 3; ++server_bits) {
    for (const bool trunk_queues : {false, true}) {
      SCOPED_TRACE(absl::StrCat(1 << server_bits, " servers, ", trunk_queues));
      RackDemand demand = DemandOf(network);
      demand.cut = RackCut::kRows;
      demand.trunk_queues = trunk_queues;
      const ServerShape server = {.cores = trunk_queues ? kCores : kCores + 2,
                                  .nic_gbps = 100,
                                  .memory_bytes = kGiB,
                                  .l2_bytes = kGiB};
      const Rack rack = PlanRack(demand, server, kWalkCosts, 1 << server_bits, 0.9);
      double least = std::numeric_limits<double>::infinity();
      for (int groups = 1; groups <= network.stages(); ++groups) {
        for (int block_bits = 0; block_bits <= 3 - server_bits; ++block_bits) {
          const int blocks = 1 << block_bits;
          if (groups * blocks > kCores) continue;
          const double ns =
              WalkToSlowest(network, {.server_bits = server_bits,
                                      .block_bits = block_bits,
                                      .group_of_hop = GroupOfHop(network.stages(), groups),
                                      .trunk_queues = trunk_queues});
          least = std::min(least, ns / blocks);
          if (groups == rack.stage_groups && blocks == rack.row_blocks) {
            EXPECT_DOUBLE_EQ(rack.frame_ns, ns) << groups << " x " << blocks;
          }
        }
      }
      EXPECT_DOUBLE_EQ(rack.frame_ns / rack.row_blocks, least);
    }
  }
}

}  // namespace
}  // namespace bfly::control
