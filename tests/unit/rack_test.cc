// SPDX-License-Identifier: Apache-2.0
// The model of a rack: every figure against a calculation by hand with round costs, and the frames
// that change their block against walks through the network.
#include "control/rack/rack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "control/rack/rack_file.h"
#include "dataplane/frames/wire_header.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/packet_store.h"
#include "tests/temporary_folder.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

constexpr CoreCosts kCosts = {.driver = 20,
                              .receive_part = 0.5,
                              .edge = 10,
                              .hop = 1,
                              .far_hop = 3,
                              .timed_hop = 20,
                              .hand_over = 16,
                              .trunk = 24};
constexpr double kMiB = 1024.0 * 1024.0;
constexpr ServerShape kServer = {
    .cores = 4, .nic_gbps = 100, .memory_bytes = 1024 * kMiB, .l2_bytes = kMiB};

// Frames of 105 bytes with FCS take 125 bytes on the wire: a million a second at 1 Gb/s.
RackDemand Butterfly(int hops, double gbps = 1) {
  RackDemand demand{.rows = 1u << hops, .gbps = gbps, .frame_bytes = 105};
  demand.positions.resize(hops);
  std::iota(demand.positions.begin(), demand.positions.end(), 1);
  return demand;
}

double Slowest(const RackDemand& demand, const std::vector<int>& groups, int blocks) {
  return SlowestCore(demand, kServer.l2_bytes, kCosts, groups, blocks);
}

TEST(RackConstants, AreThoseOfTheDataPlane) {
  EXPECT_EQ(kTrunkBytes, dataplane::kTrunkOverhead);
  EXPECT_EQ(kFusedHops, dataplane::FusedStages::kMost);
  EXPECT_EQ(kFusedRowBytes, sizeof(dataplane::LinkHot) << dataplane::FusedStages::kMost);
  EXPECT_EQ(kWaitingBytes, sizeof(dataplane::StoredPacket) + sizeof(uint32_t))
      << "a packet, and its number where places are given back";
}

TEST(LineRateTest, IsThatOfEthernet) {
  EXPECT_NEAR(LineRate({.gbps = 10, .frame_bytes = 64}), 14'880'952.4, 0.1);
  EXPECT_NEAR(LineRate({.gbps = 100, .frame_bytes = 1518}), 8'127'438.2, 0.1);
  EXPECT_DOUBLE_EQ(LineRate(Butterfly(4)), 1e6);
  EXPECT_NEAR(*MeanFrameBytes("imix"), 4342.0 / 12, 1e-9);
  EXPECT_EQ(*MeanFrameBytes("9022"), 9022);
  for (const char* wrong : {"63", "9023", "imx", "", "-64", "64.5"}) {
    EXPECT_THAT(MeanFrameBytes(wrong).status().message(), HasSubstr("64 to 9022")) << wrong;
  }
}

TEST(SlowestCoreTest, AddsUpDriverEdgeHopsAndHandOvers) {
  const RackDemand four = Butterfly(4);
  EXPECT_DOUBLE_EQ(Slowest(four, {4}, 1), 20 + 10 + 4);
  // The first hop takes half of the frames to the other half of the rows.
  EXPECT_DOUBLE_EQ(Slowest(four, {4}, 2), 34 + 8);
  EXPECT_DOUBLE_EQ(Slowest(four, {4}, 4), 34 + 16);
  // The core that receives: half of the driver, the edge, one hop, half of a hand-over.
  EXPECT_DOUBLE_EQ(Slowest(four, {1, 3}, 1), 10 + 10 + 1 + 8);
  RackDemand two_fold = four;
  two_fold.positions = {1, 2, 3, 4, 1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(Slowest(two_fold, {8}, 2), 30 + 8 + 16);
}

TEST(SlowestCoreTest, ReceivingAndSendingTakeTheirPartsOfTheDriver) {
  CoreCosts costs = kCosts;
  costs.receive_part = 0.75;
  const auto slowest = [&](const std::vector<int>& groups) {
    return SlowestCore(Butterfly(12), 1024 * kMiB, costs, groups, 1);
  };
  EXPECT_DOUBLE_EQ(slowest({12}), 20 + 10 + 12);
  EXPECT_DOUBLE_EQ(slowest({1, 11}), 15 + 10 + 1 + 8) << "the core that receives";
  costs.receive_part = 0.1;
  EXPECT_DOUBLE_EQ(slowest({1, 11}), 18 + 11 + 8) << "the core that sends";
}

TEST(SlowestCoreTest, HopsAreDearerWhereCountersLeaveTheCache) {
  const RackDemand rows_16384 = {
      .positions = {1, 2, 3, 4}, .rows = 16384, .gbps = 1, .frame_bytes = 105};
  // 16,384 rows of 256 bytes are 4 MiB, three quarters of which are not in the cache of 1 MiB.
  EXPECT_DOUBLE_EQ(Slowest(rows_16384, {4}, 1), 30 + 4 * (1 + 0.75 * 2));
  EXPECT_DOUBLE_EQ(Slowest(rows_16384, {4}, 4), 30 + 4 + 16);
  RackDemand timed = rows_16384;
  timed.timed = true;
  EXPECT_DOUBLE_EQ(Slowest(timed, {4}, 1), 30 + 80);
}

// Walks from every row to every row and counts how often the leading bits change.
TEST(SlowestCoreTest, HandsOverAsManyFramesAsChangeTheirBlock) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kBenes}) {
    const Network network = *Network::Make({.kind = kind, .rows = 16});
    RackDemand demand{.rows = 16, .gbps = 1, .frame_bytes = 105};
    for (int stage = 0; stage < network.stages(); ++stage) {
      demand.positions.push_back(network.position_of_stage(stage));
    }
    const double without = Slowest(demand, {network.stages()}, 1);
    for (const int bits : {1, 2, 3}) {
      double changes = 0, walks = 0;
      for (uint32_t tag = 0; tag < (1u << network.stages()); ++tag) {
        for (Row row = 0; row < 16; ++row, ++walks) {
          Row at = row;
          for (int stage = 0; stage < network.stages(); ++stage) {
            const Row next = network.next_row(stage, at, static_cast<int>(tag >> stage & 1));
            changes += at >> (4 - bits) != next >> (4 - bits);
            at = next;
          }
        }
      }
      EXPECT_DOUBLE_EQ(Slowest(demand, {network.stages()}, 1 << bits),
                       without + 16 * changes / walks);
    }
  }
}

TEST(PlanRackTest, CutsBetweenStages) {
  const Rack rack = PlanRack(Butterfly(4), kServer, kCosts, 2, 0.9);
  EXPECT_EQ(rack.servers, 2);
  EXPECT_EQ(rack.hops_of_server, 2);
  EXPECT_EQ(rack.stage_groups, 1);
  EXPECT_EQ(rack.row_blocks, 1);
  EXPECT_EQ(rack.cores(), 2) << "one more sends into the trunk";
  EXPECT_DOUBLE_EQ(rack.frame_ns, 10 + 10 + 2 + 8);
  EXPECT_DOUBLE_EQ(rack.trunk_gbps, 16e6 * (105 + 54 + 20) * 8 / 1e9);
  EXPECT_DOUBLE_EQ(rack.memory_bytes, 64 * 200 + 16 * 256 + 2 * 8192 * 2304);
  ASSERT_EQ(rack.needs.size(), 5u);
  EXPECT_DOUBLE_EQ(rack.needs[0].part, 16e6 * 30e-9);
  EXPECT_DOUBLE_EQ(rack.needs[1].part, 16e6 * (22 + 8) * 1e-9);
  EXPECT_DOUBLE_EQ(rack.needs[2].part, 0.22912) << "the second server's";
  EXPECT_DOUBLE_EQ(rack.needs[3].part, 0.22912) << "the first server's";
  EXPECT_DOUBLE_EQ(rack.needs[4].part, rack.memory_bytes / kServer.memory_bytes);
  EXPECT_EQ(rack.first().resource, "cores");
  EXPECT_NEAR(rack.breaking_load(), 1 / 0.48, 1e-9);
}

TEST(PlanRackTest, HandsFramesOverToATrunkCoreStraightFromTheLastHop) {
  ServerShape eight = kServer;
  eight.cores = 8;
  CoreCosts costs = kCosts;
  costs.edge = 14;
  // The first server works hops 0 and 1. With 54.4 million frames a second it needs four blocks,
  // which the bits of both hops tell apart, and more of its cores than the second server.
  RackDemand demand = Butterfly(4, 3.4);
  Rack rack = PlanRack(demand, eight, costs, 2, 0.9);
  EXPECT_EQ(rack.row_blocks, 4);
  EXPECT_DOUBLE_EQ(rack.frame_ns, 10 + 14 + 2 + 8 + 8) << "half change at hop 0, all go behind 1";
  demand.trunk_queues = true;
  rack = PlanRack(demand, eight, costs, 2, 0.9);
  EXPECT_EQ(rack.row_blocks, 4);
  EXPECT_DOUBLE_EQ(rack.frame_ns, 10 + 14 + 2 + 8 + 8 + 22) << "half change at hop 0, half at 1";
}

TEST(PlanRackTest, TakesFramesOutOfATrunkAtTheCostOfReceiving) {
  CoreCosts costs = kCosts;
  costs.receive_part = 0.75;
  EXPECT_DOUBLE_EQ(PlanRack(Butterfly(4), kServer, costs, 2, 0.9).needs[1].part,
                   16e6 * (15 + 12 + 8) * 1e-9);
  RackDemand demand = Butterfly(4);
  demand.trunk_queues = true;
  // The first server receives from hosts and sends into the trunk, and the second one the other
  // way.
  const Rack rack = PlanRack(demand, kServer, costs, 2, 0.9);
  EXPECT_DOUBLE_EQ(rack.frame_ns, 15 + 10 + 2 + 5 + 12);
}

TEST(PlanRackTest, CutsByRows) {
  RackDemand demand = Butterfly(4);
  demand.cut = RackCut::kRows;
  // Two of four hops may lead to another server, each for half of the frames.
  const Rack lone = PlanRack(demand, kServer, kCosts, 4, 0.9);
  EXPECT_EQ(lone.cores(), 3);
  EXPECT_DOUBLE_EQ(lone.frame_ns, 20 + 10 + 4 + 16);
  EXPECT_DOUBLE_EQ(lone.needs[1].part, 4e6 * 30e-9);
  EXPECT_DOUBLE_EQ(lone.trunk_gbps, 5.728);
  EXPECT_NEAR(lone.needs[2].part, 0.09728, 1e-9);
  demand.trunk_queues = true;
  const Rack rack = PlanRack(demand, kServer, kCosts, 4, 0.9);
  EXPECT_EQ(rack.cores(), 1);
  EXPECT_DOUBLE_EQ(rack.frame_ns, 20 + 10 + 4 + 44);
  EXPECT_EQ(rack.needs[1].part, 0);
}

TEST(PlanRackTest, NeedsCoresForTrunksBesideThoseOfItsHops) {
  RackDemand demand = Butterfly(4, 0.001);
  demand.cut = RackCut::kRows;
  ServerShape small = kServer;
  for (const int cores : {1, 2, 3}) {
    small.cores = cores;
    const Rack rack = PlanRack(demand, small, kCosts, 2, 0.8);
    // Two cores work the trunks, one sends and one receives, and one the hops.
    EXPECT_EQ(rack.cores(), 3);
    if (cores < 3) {
      EXPECT_DOUBLE_EQ(rack.needs[0].part, 3.0 / cores);
    } else {
      EXPECT_LT(rack.needs[0].part, 0.1);
    }
  }
}

TEST(PlanRackTest, ShowsTheCoresOfTheServerThatNeedsMostOfThem) {
  ServerShape two = kServer;
  two.cores = 2;
  const Rack rack = PlanRack(Butterfly(3), two, kCosts, 3, 0.9);
  // The second server has a core for its hop and two for trunks; its hop needs less of a core than
  // that of the first server, which has hosts.
  EXPECT_EQ(rack.cores(), 3);
  EXPECT_EQ(rack.trunk_cores, 2);
  EXPECT_DOUBLE_EQ(rack.frame_ns, 1 + 8 + 8);
  EXPECT_DOUBLE_EQ(rack.needs[0].part, 1.5);
}

TEST(SmallestRackTest, TakesAsManyServersAsNicsAndCoresNeed) {
  RackDemand demand = Butterfly(4, 10);
  demand.cut = RackCut::kRows;
  demand.trunk_queues = true;
  // With four servers a NIC would receive 40 Gb/s of hosts and 57.28 of trunks, more than 90 in
  // all.
  const Rack rack = SmallestRack(demand, kServer, kCosts, 0.9);
  EXPECT_EQ(rack.servers, 8);
  EXPECT_NEAR(rack.needs[2].part, 0.6296, 1e-9);
  // One core a row would need 10e6 * 108 ns of a second, so the stages are shared too.
  EXPECT_EQ(rack.stage_groups, 2);
  EXPECT_EQ(rack.row_blocks, 2);
  // Half of the frames cross at each of hops 0 to 2. The first group works hops 0 and 1, so it
  // sends a frame into trunks once, takes what crossed at hop 0 out of them, and hands the half
  // that did not cross at hop 1 over to the second group.
  EXPECT_DOUBLE_EQ(rack.frame_ns, 10 + 10 + 2 + 22 + 0.5 * 22 + 0.5 * 8);
}

TEST(SmallestRackTest, SaysWhatBreaksWhereNothingIsEnough) {
  // All rows of a stage stand on one server, whose NIC is too slow; its cores are worse.
  const Rack rack = SmallestRack(Butterfly(4, 10), kServer, kCosts, 0.9);
  EXPECT_EQ(rack.servers, 1);
  EXPECT_EQ(rack.first().resource, "cores");
  EXPECT_DOUBLE_EQ(rack.first().part, 40e6 * 50e-9);
  EXPECT_DOUBLE_EQ(rack.needs[2].part, 1.6);
  EXPECT_DOUBLE_EQ(rack.breaking_load(), 0.5);
}

TEST(PlanRackTest, CountsFramesOnLinksThatTakeTime) {
  RackDemand demand = Butterfly(4);
  const double without = PlanRack(demand, kServer, kCosts, 1, 0.9).memory_bytes;
  demand.timed = true;
  demand.delay_seconds = 100e-6;
  const Rack rack = PlanRack(demand, kServer, kCosts, 1, 0.9);
  // A frame takes 110 ns. Two cores would be 94 % in use, so there are four instead of one. 16
  // million frames a second are on links for 4 * 101 us.
  EXPECT_EQ(rack.cores(), 4);
  EXPECT_NEAR(rack.memory_bytes - without, 3 * 8192 * 2304 + 6464 * (68 + 2304), 1);
}

class RackFiles : public testing::Test {
 protected:
  absl::StatusOr<v1::RackFile> Read(const std::string& text,
                                    const std::vector<std::string>& settings = {}) {
    const std::string path = folder_.path() + "/rack.yaml";
    std::ofstream(path) << text;
    return ReadRackFile(path, settings);
  }
  void ExpectError(const std::string& text, const std::string& message) {
    EXPECT_THAT(Read(text).status().message(), HasSubstr(message)) << text;
  }
  TemporaryFolder folder_;
};

TEST_F(RackFiles, AreReadWithDefaultsAndSettings) {
  const auto file =
      Read("host_ports: [16, 64]\n", {"server={cores: 8, nic_ports: 2, nic_gbps: 400}",
                                      "costs={hop_ns: 0.5}", "frames=[64, imix]"});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(ServerOf(*file).cores, 8);
  EXPECT_EQ(ServerOf(*file).nic_gbps, 800);
  EXPECT_EQ(ServerOf(*file).l2_bytes, kMiB);
  EXPECT_EQ(CostsOf(*file).hop, 0.5);
  EXPECT_GT(CostsOf(*file).driver, 0);
  const auto racks = PlanRacks(*file);
  ASSERT_TRUE(racks.ok());
  EXPECT_EQ(racks->size(), 4u);
}

TEST_F(RackFiles, RefuseASettingThatIsWrongInside) {
  for (const auto& [setting, message] : std::map<std::string, std::string>{
           {"costs={hop_ns: abc}", "costs.hop_ns: \"abc\" is not a number"},
           {"costs={hop_ns: 0}", "costs.hop_ns: 0 is out of range"},
           {"costs={hops_ns: 1}", "costs.hops_ns: unknown key; did you mean hop_ns?"},
           {"costs={hop_ns: 1", "is not YAML"}}) {
    const absl::Status status = Read("host_ports: 16\n", {setting}).status();
    EXPECT_THAT(status.message(), HasSubstr(message)) << setting;
    EXPECT_THAT(std::string(status.message()), testing::StartsWith("--set " + setting)) << setting;
  }
}

TEST_F(RackFiles, HaveThePositionsOfTheNetworks) {
  for (const NetworkKind kind :
       {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly, NetworkKind::kBenes}) {
    const Network network = *Network::Make({.kind = kind, .rows = 64});
    const auto file = Read(absl::StrCat("host_ports: 64\nnetwork: ", KindName(kind), "\n"));
    ASSERT_TRUE(file.ok()) << file.status();
    const std::vector<int> positions = PlanRacks(*file)->front().demand.positions;
    ASSERT_EQ(static_cast<int>(positions.size()), network.hops());
    for (int stage = 0; stage < network.stages(); ++stage) {
      EXPECT_EQ(positions[stage], network.position_of_stage(stage)) << KindName(kind);
    }
  }
}

TEST_F(RackFiles, AreRefusedWithTheKeyAndWhatIsRight) {
  ExpectError("host_ports: 12\n", "12 is not a power of two");
  ExpectError("host_port: 16\n", "did you mean host_ports?");
  ExpectError("", "a rack file has at least host_ports");
  ExpectError("host_ports: 16\nframes: [64, 63]\n", "'63' is not a frame size");
  ExpectError("host_ports: 16\ndelay_us: 10\n", "timed: true");
  ExpectError("host_ports: 16\nnetwork: hypercube\n", "two_fold_butterfly");
  ExpectError("host_ports: 16\ncosts: {hop_ns: 0}\n", "hop_ns");
  ExpectError("host_ports: 16\nmost_busy: 1.5\n", "most_busy");
  ExpectError("host_ports: 16\ncosts: {hop_ns: 2, far_hop_ns: 1}\n", "less than hop_ns");
  ExpectError("host_ports: 16\nmeasured: [{stages: 2, placement: stages, mpps: 1}]\n",
              "measured[0].stages");
  for (const char* wrong :
       {"servers: 5\n", "servers: 3\ncut: rows\n", "servers: 32\ncut: rows\n"}) {
    const auto file = Read(absl::StrCat("host_ports: 16\n", wrong));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(PlanRacks(*file).status().message(), HasSubstr("cannot share 16 rows")) << wrong;
  }
}

TEST_F(RackFiles, CompareMeasurementsWithTheModel) {
  const auto file = Read(
      "costs: {driver_ns: 20, receive_part: 0.6, edge_ns: 10, hop_ns: 1, hand_over_ns: 16}\n"
      "measured:\n"
      "  - {stages: 4, mpps: 25, fitted: true}\n"
      "  - {stages: 6, placement: stages, mpps: 40}\n"
      "  - {stages: 6, placement: rows, mpps: 40}\n");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<RackCheck> checks = CheckRack(*file);
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_DOUBLE_EQ(checks[0].predicted, 1e3 / 34);
  EXPECT_NEAR(checks[0].error_percent(), 100 * (1e3 / 34 / 25 - 1), 1e-9);
  EXPECT_DOUBLE_EQ(checks[1].predicted, 1e3 / (12 + 10 + 2 + 8));
  EXPECT_DOUBLE_EQ(checks[2].predicted, 2e3 / (20 + 10 + 6 + 8));
}

}  // namespace
}  // namespace bfly::control
