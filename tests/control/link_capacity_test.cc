// SPDX-License-Identifier: Apache-2.0
// Links that carry a limited number of circuits.
#include <gmock/gmock.h>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LinkCapacityTest : public CircuitsServiceTest {
 protected:
  void StartWith(const v1::Topology& topology) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
    const absl::Status loaded = Load(*controller_, topology);
    ASSERT_TRUE(loaded.ok()) << loaded;
  }
  v1::Counters Counters() {
    return *Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters,
                 v1::GetCountersRequest());
  }
};

v1::Topology Butterfly16(uint32_t capacity) {
  v1::Topology topology = SmallTopology(false, 16);
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_placement(0)->set_stages("0-3");
  topology.mutable_circuits()->set_capacity(capacity);
  return topology;
}

TEST_F(LinkCapacityTest, EveryLinkTellsItsCapacity) {
  v1::Topology topology = Butterfly16(2);
  v1::LinkCapacity* narrow = topology.mutable_circuits()->add_link_capacities();
  narrow->set_stage(1);
  narrow->set_capacity(1);
  StartWith(topology);
  const v1::Counters counters = Counters();
  ASSERT_EQ(counters.links_size(), 4 * 16 * 2);
  for (const v1::LinkCounters& link : counters.links()) {
    const bool is_narrow = link.stage() == 1 && link.row() == 0 && link.port() == 0;
    EXPECT_EQ(link.circuit_capacity(), is_narrow ? 1u : 2u);
  }
  EXPECT_EQ(Counters().circuits().asked(), 0u);
  EXPECT_EQ(Counters().circuits().blocking_ratio(), 0.0);
}

TEST_F(LinkCapacityTest, BlockedRequestsAreCountedAndChangeNothing) {
  StartWith(Butterfly16(1));
  // 0000 -> 0001 and 1000 -> 0011 both leave node 0000 of level 1 straight on.
  ASSERT_TRUE(SetUpCircuit(*controller_, 0, 1).ok());
  const auto blocked = SetUpCircuit(*controller_, 8, 3);
  EXPECT_EQ(blocked.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(FieldsOf(blocked.status()), ElementsAre("link"));
  EXPECT_THAT(std::string(blocked.status().message()),
              HasSubstr("s1 r0 p0 carries 1 circuit and has room for 1"));
  EXPECT_EQ(List(*controller_).size(), 1u);
  // Batches: all or nothing, and best effort.
  v1::SetUpBatchRequest batch;
  for (const auto& [input, output] : {std::pair{2u, 2u}, {8u, 3u}}) {
    batch.add_requests()->set_input(input);
    batch.mutable_requests(batch.requests_size() - 1)->set_output(output);
  }
  batch.set_all_or_nothing(true);
  EXPECT_EQ(Ask(batch).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(FieldsOf(Ask(batch).status()), ElementsAre("requests[1].link"));
  EXPECT_EQ(List(*controller_).size(), 1u);
  batch.set_all_or_nothing(false);
  const auto results = Ask(batch);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->results(0).code(), 0);
  EXPECT_EQ(results->results(1).code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // Asked: 1 + 1 + 2 * 2 + 2. Blocked: 1 + 2 + 1.
  const v1::CircuitCounters circuits = Counters().circuits();
  EXPECT_EQ(circuits.asked(), 8u);
  EXPECT_EQ(circuits.blocked(), 4u);
  EXPECT_EQ(circuits.blocking_ratio(), 0.5);
  // A permutation that does not fit is refused as a whole.
  v1::RoutePermutationRequest permutation;
  permutation.set_protocol("greedy");
  permutation.set_permutation("bitrev");
  permutation.set_replace(true);
  EXPECT_EQ(Ask(permutation).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(List(*controller_).size(), 2u);
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// On BB_n the other candidate path is taken if the one that the protocol chooses has no room.
TEST_F(LinkCapacityTest, TheOtherPathServesWhereTheChosenOneIsFull) {
  Start();
  const auto free = SetUpCircuit(*controller_, 3, 9);
  ASSERT_TRUE(free.ok());
  ASSERT_EQ(free->circuit().choice(), "p");
  const auto& rows = free->circuit().rows();
  // The second link of p may carry one circuit, and another input fills it. It is not a collision
  // link, and the protocol looks at collision links only, so it still chooses p.
  v1::Topology topology = SmallTopology();
  v1::LinkCapacity* narrow = topology.mutable_circuits()->add_link_capacities();
  narrow->set_stage(1);
  narrow->set_row(rows[1]);
  // Port b is the link whose head has bit b at the position the stage touches; stage 1 touches the
  // second of four.
  narrow->set_port((rows[2] >> 2) & 1);
  narrow->set_capacity(1);
  ASSERT_TRUE(Load(*controller_, topology, /*replace=*/true).ok());
  // The other input whose path reaches the node is 3 with the first position complemented. Behind
  // the narrow link this path goes the other way, and shares no collision link with p.
  v1::SetUpRequest given;
  given.set_input(11);
  given.set_output(15);
  std::vector<uint32_t> path = {11, rows[1], rows[2], rows[3] ^ 2u};
  for (int stage = 3; stage < 8; ++stage) {
    const uint32_t mask = 8u >> (stage % 4);
    path.push_back(stage < 4 ? path.back() : path.back() | mask);
  }
  given.mutable_rows()->Add(path.begin(), path.end());
  const auto filling = Ask(given);
  ASSERT_TRUE(filling.ok()) << filling.status();
  const auto served = SetUpCircuit(*controller_, 3, 9);
  ASSERT_TRUE(served.ok()) << served.status();
  EXPECT_EQ(served->circuit().choice(), "p_prime");
  // It has the only path with room, so it stays there.
  for (const char* protocol : {"", "minimum"}) {
    v1::MoveRequest move;
    move.set_input(3);
    move.set_protocol(protocol);
    const auto moved = Call(*controller_->circuits, &v1::Circuits::Stub::Move, move);
    ASSERT_TRUE(moved.ok()) << protocol << moved.status();
    EXPECT_EQ(moved->circuit().choice(), "p_prime");
  }
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

// Rows 0 to 7 turned by `turn` places, on links that carry one circuit. A dry run sees what the
// permutation replaces, and what has no room.
TEST_F(LinkCapacityTest, ADryRunRefusesWhatTheRunWouldRefuse) {
  v1::Topology topology = SmallTopology();
  topology.mutable_circuits()->set_capacity(1);
  StartWith(topology);
  int served = 0, refused = 0;
  for (uint32_t turn = 0; turn < 8; ++turn) {
    v1::RoutePermutationRequest request;
    request.set_protocol("minimum");
    request.set_replace(true);
    for (uint32_t row = 0; row < 8; ++row) {
      request.add_inputs(row);
      request.add_outputs((row + turn) % 8);
    }
    request.set_dry_run(true);
    const absl::Status dry = Ask(request).status();
    request.set_dry_run(false);
    const absl::Status real = Ask(request).status();
    EXPECT_EQ(dry.message(), real.message()) << "turn " << turn;
    EXPECT_EQ(dry.code(), real.code());
    EXPECT_EQ(FieldsOf(dry), FieldsOf(real));
    served += real.ok();
    refused += real.code() == absl::StatusCode::kResourceExhausted;
  }
  EXPECT_EQ(served + refused, 8);
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(LinkCapacityTest, AWrongCapacityIsRefusedNamingIt) {
  Start();
  v1::Topology topology = SmallTopology();
  v1::LinkCapacity* entry = topology.mutable_circuits()->add_link_capacities();
  entry->set_stage(8);
  entry->set_row(16);
  entry->set_capacity(1);
  EXPECT_THAT(FieldsOf(Load(*controller_, topology, true)),
              ElementsAre("topology.circuits.link_capacities[0].stage",
                          "topology.circuits.link_capacities[0].row"));
  entry->set_stage(7);
  entry->set_row(15);
  *topology.mutable_circuits()->add_link_capacities() = *entry;
  EXPECT_THAT(FieldsOf(Load(*controller_, topology, true)),
              ElementsAre("topology.circuits.link_capacities[1]"));
  topology.mutable_circuits()->mutable_link_capacities()->RemoveLast();
  entry->set_capacity(0);
  EXPECT_FALSE(Load(*controller_, topology, true).ok());
}

}  // namespace
}  // namespace bfly::control
