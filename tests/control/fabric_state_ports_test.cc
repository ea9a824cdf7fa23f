// SPDX-License-Identifier: Apache-2.0
// Circuits where a direction has several ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/intent/execute.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Network> PairsOfLinks(uint32_t rows) {
  return std::make_shared<const Network>(
      *Network::Make({.kind = NetworkKind::kDilatedButterfly, .rows = rows, .multiplicity = 2}));
}

Order SetUpOverPorts(Row input, Row output) { return {SetUpOrder{input, output, {}}, ""}; }

TEST(FabricStatePorts, ACircuitTakesThePortWithTheFewestCircuitsOrThoseItIsGiven) {
  const auto network = PairsOfLinks(4);
  FabricState state(network, 0);
  const auto ports = [&](Order order) {
    const Outcome circuit = Execute(state, std::move(order));
    EXPECT_TRUE(circuit.ok()) << circuit.status();
    return circuit.ok() ? PortsOfTag(*network, circuit->path.tag) : std::vector<int>();
  };
  SetUpOrder given{0, 1, {}};
  given.ports = {0, 3};
  EXPECT_THAT(ports({given, ""}), ElementsAre(0, 3));
  // 2 -> 0 goes by direction 0 of row 2, then by direction 0 of row 0.
  EXPECT_THAT(ports(SetUpOverPorts(2, 0)), ElementsAre(0, 0));
  // Direction 1 of row 3, then direction 0 of row 3, where there is none yet.
  EXPECT_THAT(ports(SetUpOverPorts(3, 2)), ElementsAre(2, 0));

  SetUpOrder wrong = given;
  wrong.input = 1;
  wrong.output = 3;
  wrong.ports = {0, 4};
  EXPECT_EQ(Execute(state, Order{wrong, ""}).status().message(), "ports[1]: 4 is outside 0..3");
  wrong.ports = {0, 3};
  EXPECT_THAT(std::string(Execute(state, Order{wrong, ""}).status().message()),
              HasSubstr("lead to row 1, which is not the output, 3"));
  wrong.rows = {1, 3, 3};
  EXPECT_THAT(std::string(Execute(state, Order{wrong, ""}).status().message()),
              HasSubstr("lead over rows 1 1 1"));
}

// The first port has the fewest circuits and no room; the second has room.
TEST(FabricStatePorts, APortThatIsFullIsLeftOutWhereItsTwinHasRoom) {
  const auto network = PairsOfLinks(64);
  LinkCapacity capacity;
  capacity.of_link[network->link_index({2, 0, 0})] = 1;
  FabricState state(network, 0, capacity);
  const auto third_port = [&](Row input, Row output) {
    const Outcome circuit = Execute(state, SetUpOverPorts(input, output));
    EXPECT_TRUE(circuit.ok()) << circuit.status();
    return circuit.ok() ? PortOfHop(*network, circuit->path.tag, 2) : -1;
  };
  // All four cross direction 0 of row 0 at stage 2.
  EXPECT_EQ(third_port(0, 0), 0);
  EXPECT_EQ(third_port(16, 1), 1);
  EXPECT_EQ(third_port(32, 2), 1);
  EXPECT_EQ(third_port(48, 3), 1);
}

// All three cross direction 0 of row 0 at stage 2, whose first port carries one circuit at most.
// The third finds one circuit on each port.
TEST(FabricStatePorts, APermutationByMinimumLeavesFullPortsOutAsSetUpsDo) {
  const auto network = PairsOfLinks(32);
  LinkCapacity capacity;
  capacity.of_link[network->link_index({2, 0, 0})] = 1;
  const std::vector<Request> requests{{0, 0}, {8, 1}, {16, 2}};
  std::vector<int> together, one_by_one;
  FabricState by_permutation(network, 0, capacity);
  const auto routed =
      Execute(by_permutation,
              PermutationOrder{.protocol = "minimum", .requests = requests, .options = {}}, "");
  ASSERT_TRUE(routed.ok()) << routed.status();
  for (const CircuitPath& path : routed->paths) {
    together.push_back(PortOfHop(*network, path.tag, 2));
  }
  FabricState by_set_ups(network, 0, capacity);
  for (const auto& [input, output] : requests) {
    const Outcome circuit = Execute(by_set_ups, SetUpOverPorts(input, output));
    ASSERT_TRUE(circuit.ok()) << circuit.status();
    one_by_one.push_back(PortOfHop(*network, circuit->path.tag, 2));
  }
  EXPECT_THAT(together, ElementsAre(0, 1, 1));
  EXPECT_THAT(one_by_one, ElementsAre(0, 1, 1));
  // The third has the only port with room, so it stays there.
  for (const char* protocol : {"", "minimum"}) {
    MoveOrder move;
    move.input = 16;
    move.protocol = protocol;
    const Outcome moved = Execute(by_set_ups, Order{move, ""});
    ASSERT_TRUE(moved.ok()) << protocol << moved.status();
    EXPECT_EQ(PortOfHop(*network, moved->path.tag, 2), 1);
  }
}

// Circuits to outputs 0 to 3 from these inputs cross direction 0 of row 0 at stage 2, which has two
// links.
TEST(FabricStatePorts, DisjointTakesFreeLinksAndSaysWhichStageBlocks) {
  const auto network = PairsOfLinks(64);
  FabricState state(network, 0);
  const auto disjoint = [&](Row input, Row output) {
    SetUpOrder order{input, output, {}};
    order.protocol = "disjoint";
    return Execute(state, Order{order, ""});
  };
  const Outcome first = disjoint(0, 0), second = disjoint(16, 1), third = disjoint(32, 2);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->path.choice, PathChoice::kDisjoint);
  EXPECT_NE(PortOfHop(*network, first->path.tag, 2), PortOfHop(*network, second->path.tag, 2));
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(third.status().message(),
            "link: no path of free links leads from 32 to 2: stage 2 blocks the last of them; "
            "s2 r0 p0 carries 1 circuit, s2 r0 p1 carries 1 circuit");
  // The minimum protocol shares a link.
  EXPECT_TRUE(Execute(state, SetUpOverPorts(32, 2)).ok());
}

// Circuits to outputs 0 to 3 from these inputs cross direction 0 of row 0 at stage 2, as above.
TEST(FabricStatePorts, ARefusedRequestCountsAlikeBySetUpAndByPermutation) {
  const auto network = PairsOfLinks(64);
  FabricState state(network, 0);
  const auto refused_by = [&](const char* protocol, Row input, Row output) {
    SetUpOrder alone{input, output, {}};
    alone.protocol = protocol;
    const auto code = Execute(state, Order{alone, ""}).status().code();
    const PermutationOrder together{
        .protocol = protocol, .requests = {{input, output}}, .options = {}};
    EXPECT_EQ(Execute(state, together, "").status().code(), code);
    state.Commit();
    return code;
  };
  for (const auto& [input, output] : {std::pair<Row, Row>{0, 0}, {16, 1}}) {
    ASSERT_TRUE(Execute(state, SetUpOverPorts(input, output)).ok());
  }
  EXPECT_EQ(refused_by("disjoint", 32, 2), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(state.blocking().asked, 4u);
  EXPECT_EQ(state.blocking().blocked, 2u);
  // Input 48 leaves for output 3 by direction 0.
  for (const int port : {0, 1}) state.SetFault(LinkId{0, 48, port}, /*down=*/true);
  for (const char* protocol : {"disjoint", "minimum"}) {
    EXPECT_EQ(refused_by(protocol, 48, 3), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(state.blocking().asked, 8u);
  EXPECT_EQ(state.blocking().blocked, 2u);
}

// 0000 -> 0001 and 1000 -> 0011 both leave node 0000 of level 1 straight on, where q_limited loses
// one of the two. It loses the third, whose first link is down.
TEST(FabricStatePorts, WhatAProtocolLosesCountsAsAskedAndAtAFullLinkAsBlocked) {
  FabricState state(std::make_shared<const Network>(
                        *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16})),
                    0);
  state.SetFault(LinkId{0, 5, 0}, /*down=*/true);
  const PermutationOrder order{
      .protocol = "q_limited", .requests = {{0, 1}, {8, 3}, {5, 7}}, .options = {}};
  const auto routed = Execute(state, order, "");
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(routed->paths.size(), 1u);
  state.Commit();
  EXPECT_EQ(state.blocking().asked, 3u);
  EXPECT_EQ(state.blocking().blocked, 1u);
}

TEST(FabricStatePorts, AProtocolOfASetUpMustBeOneThatChoosesPathByPath) {
  FabricState state(PairsOfLinks(4), 0);
  SetUpOrder order{0, 1, {}};
  for (const auto& [protocol, code] :
       {std::pair{"collision", absl::StatusCode::kFailedPrecondition},
        {"valiant", absl::StatusCode::kFailedPrecondition},
        {"nonsense", absl::StatusCode::kInvalidArgument}}) {
    order.protocol = protocol;
    const Outcome refused = Execute(state, Order{order, ""});
    EXPECT_EQ(refused.status().code(), code);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("protocol: "));
  }
  order.protocol = "disjoint";
  order.ports = {0, 2};
  EXPECT_EQ(Execute(state, Order{order, ""}).status().code(), absl::StatusCode::kInvalidArgument);
}

// Outputs 0 to 3 of four inputs that share the two links: one of them carries a circuit at most.
TEST(FabricStatePorts, CollisionLooksAtTheCapacityOfLinks) {
  const auto network = PairsOfLinks(64);
  LinkCapacity capacity;
  capacity.of_link[network->link_index({2, 0, 0})] = 1;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FabricState state(network, 0, capacity);
    PermutationOrder order{.protocol = "collision",
                           .requests = {{0, 0}, {16, 1}, {32, 2}},
                           .options = {.seed = seed, .c = 4}};
    // All three ask for both links, so the link of capacity 1 takes none.
    const auto routed = Execute(state, order, "");
    ASSERT_TRUE(routed.ok()) << routed.status();
    for (const CircuitPath& path : routed->paths) {
      EXPECT_EQ(PortOfHop(*network, path.tag, 2), 1);
    }
  }
}

}  // namespace
}  // namespace bfly::control
