// SPDX-License-Identifier: Apache-2.0
// End to end over real workers: a client sets circuits up, built-in sources send along them, and
// exactly the links of their paths count the packets. It needs no ports, no root and no hugepages.
#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <tuple>
#include <vector>

#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

constexpr uint64_t kPackets = 1000;

v1::Topology RealTopology() {
  v1::Topology topology = SmallTopology();
  topology.mutable_placement(0)->set_lcore(dataplane::UsableCpus().front());
  return topology;
}

FabricBackend RealBackend() {
  return {.verify = dataplane::Fabric::Verify, .load = dataplane::Fabric::Load};
}

v1::Counters CountersOf(TestController& controller) {
  const auto counters =
      Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
  EXPECT_TRUE(counters.ok()) << counters.status();
  if (!counters.ok()) return {};
  const v1::Conservation& c = counters->conservation();
  EXPECT_EQ(c.injected(), c.delivered() + c.dropped() + c.in_flight());
  EXPECT_EQ(counters->problems_size(), 0);
  return *counters;
}

TEST(RealFabric, PacketsOfCircuitsAreCountedByTheLinksOfTheirPathsAndByNoOthers) {
  TemporaryFolder directory;
  TestAgent agent(directory.path(), "dp0", RealBackend());
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, RealTopology()).ok());
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> expected;  // (stage, row, next row)
  for (Row input : {1, 6, 11}) {
    const auto response = SetUpCircuit(controller, input, 15 - input);
    ASSERT_TRUE(response.ok()) << response.status();
    const v1::Circuit& circuit = response->circuit();
    for (int level = 0; level + 1 < circuit.rows_size(); ++level) {
      expected[{level, circuit.rows(level), circuit.rows(level + 1)}] += kPackets;
    }
  }
  v1::StartTrafficRequest traffic;
  v1::TrafficSource* source = traffic.add_sources();  // rows without a circuit send nothing
  source->set_packets(kPackets);
  source->set_bytes(100);
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, traffic).ok());
  EXPECT_TRUE(Eventually(
      [&] { return CountersOf(controller).conservation().delivered() == 3 * kPackets; }));

  const v1::Counters counters = CountersOf(controller);
  EXPECT_EQ(counters.conservation().injected(), 3 * kPackets);
  EXPECT_EQ(counters.conservation().in_flight(), 0u);
  for (const v1::LinkCounters& link : counters.links()) {
    const auto found = expected.find({link.stage(), link.row(), link.next_row()});
    EXPECT_EQ(link.packets(), found == expected.end() ? 0 : found->second);
    EXPECT_EQ(link.bytes(), link.packets() * 100);
    if (found != expected.end()) expected.erase(found);
  }
  EXPECT_TRUE(expected.empty()) << "the links of all paths were there";
  // One worker runs all stages. A pass counts when the next has begun.
  constexpr uint64_t kStages = 8;  // a two-fold butterfly of 16 rows
  EXPECT_TRUE(Eventually([&] {
    const v1::Counters again = CountersOf(controller);
    return again.workers_size() == 1 && again.workers(0).cost().hops() == 3 * kPackets * kStages &&
           again.workers(0).cost().frames() == 3 * kPackets;
  }));
  const v1::WorkerCost cost = CountersOf(controller).workers(0).cost();
  EXPECT_DOUBLE_EQ(cost.cycles_per_hop() * static_cast<double>(cost.hops()),
                   static_cast<double>(cost.busy_cycles()));
  EXPECT_DOUBLE_EQ(cost.cycles_per_frame() * static_cast<double>(cost.frames()),
                   static_cast<double>(cost.busy_cycles()));
  const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->conservation().delivered(), 3 * kPackets);
  EXPECT_EQ(last->conservation().in_flight(), 0u);
}

TEST(RealFabric, AccountsBalanceWhileTrafficRunsAndALinkGoesDown) {
  TemporaryFolder directory;
  TestAgent agent(directory.path(), "dp0", RealBackend());
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, RealTopology()).ok());
  v1::StartTrafficRequest traffic;
  v1::TrafficSource* source = traffic.add_sources();
  source->set_destination(v1::TrafficSource::UNIFORM);
  source->set_packets_per_second(5000);
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, traffic).ok());
  v1::SetLinkStateRequest down;
  down.set_stage(4);
  ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, down).ok());
  // Every picture on the way balances; CountersOf checks that.
  EXPECT_TRUE(Eventually([&] {
    const v1::Counters counters = CountersOf(controller);
    for (const v1::DropCount& drop : counters.drops()) {
      if (drop.reason() == "link_down" && drop.packets() > 10) return true;
    }
    return false;
  }));
}

// A promise of docs/faults.md, with traffic at full rate.
TEST(RealFabric, ALinkThatGoesDownIsNoLongerUsedAfterTheAnswer) {
  TemporaryFolder directory;
  dataplane::Fabric* fabric = nullptr;
  FabricBackend backend = RealBackend();
  backend.load = [&](const dataplane::FabricConfig& config) {
    auto loaded = dataplane::Fabric::Load(config);
    if (loaded.ok()) fabric = loaded->get();
    return loaded;
  };
  TestAgent agent(directory.path(), "dp0", backend);
  TestController controller(directory.path());
  v1::Topology topology = RealTopology();
  topology.mutable_network()->set_kind(v1::MULTIBUTTERFLY);
  topology.mutable_network()->set_rows(64);
  topology.mutable_network()->set_multiplicity(2);
  topology.mutable_placement(0)->set_stages("0-5");
  ASSERT_TRUE(Load(controller, topology).ok());
  v1::StartTrafficRequest traffic;
  v1::TrafficSource* source = traffic.add_sources();
  source->set_destination(v1::TrafficSource::UNIFORM);  // as fast as the workers can
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, traffic).ok());

  const auto packets_of = [&](LinkId link) {
    return fabric->ReadLink(fabric->network().link_index(link)).packets;
  };
  std::vector<uint64_t> late;  // packets after the answer
  uint64_t carried = 0;
  for (uint32_t round = 0; round < 24; ++round) {
    const LinkId link = {static_cast<int>(round % 6), (round * 37) % 64,
                         static_cast<int>(round % 4)};
    const uint64_t at_first = packets_of(link);
    ASSERT_TRUE(Eventually([&] { return packets_of(link) > at_first + 100; })) << "traffic flows";
    v1::SetLinkStateRequest state;
    state.set_stage(static_cast<uint32_t>(link.stage));
    state.set_row(link.row);
    state.set_port(static_cast<uint32_t>(link.port));
    ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, state).ok());
    const uint64_t answered = packets_of(link);
    const LinkId sibling = {link.stage, link.row, link.port ^ 1};
    const auto sibling_carries = [&](uint64_t packets) {
      const uint64_t first = packets_of(sibling);
      return Eventually([&] { return packets_of(sibling) > first + packets; });
    };
    EXPECT_TRUE(sibling_carries(1000));
    const uint64_t seen = packets_of(link);
    late.push_back(seen - answered);
    EXPECT_TRUE(sibling_carries(100));
    EXPECT_EQ(packets_of(link), seen) << "a link that is down";
    carried += seen;
    CountersOf(controller);
    state.set_up(true);
    ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, state).ok());
  }
  const v1::Conservation now = CountersOf(controller).conservation();
  EXPECT_EQ(now.dropped(), 0u) << "the other link of the direction is up";
  const auto last = Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok()) << last.status();
  const v1::Conservation& end = last->conservation();
  EXPECT_EQ(end.injected(), end.delivered() + end.dropped());
  // The answer waits for a worker without a CPU for 0.25 s, and no longer.
  EXPECT_LE(std::ranges::count_if(late, [](uint64_t packets) { return packets > 0; }), 1);
  std::cout << end.delivered() << " packets delivered, " << carried
            << " over the links that went down\n";
}

TEST(RealFabric, AnLcoreTheMachineLacksIsNamed) {
  TemporaryFolder directory;
  TestAgent agent(directory.path(), "dp0", RealBackend());
  TestController controller(directory.path());
  v1::Topology topology = SmallTopology();
  topology.mutable_placement(0)->set_lcore(127);
  const absl::Status status = Load(controller, topology);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(FieldsOf(status), testing::ElementsAre("topology.placement[0].lcore"));
  EXPECT_FALSE(StatusOf(controller).loaded());
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto eal = bfly::dataplane::StartEal({.memory_mb = 256, .use_hugepages = false});
  if (!eal.ok()) {
    std::cerr << eal.status() << "\n";
    return 1;
  }
  const int failed = RUN_ALL_TESTS();
  bfly::dataplane::StopEal();
  return failed;
}
