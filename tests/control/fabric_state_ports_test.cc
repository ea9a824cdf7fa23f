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

}  // namespace
}  // namespace bfly::control
