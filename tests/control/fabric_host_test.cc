// SPDX-License-Identifier: Apache-2.0
// The agent's FabricHost over fabrics without workers: what it holds after calls that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/in_band/in_band.h"
#include "tests/control/fake_fabric.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A butterfly of 4 rows. Stage 0 is on dp0, and stage 1 on dp1.
v1::Topology Split() {
  v1::Topology topology;
  topology.set_name("test");
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_network()->set_rows(4);
  for (const std::string stage : {"0", "1"}) {
    topology.add_data_planes()->set_name("dp" + stage);
    v1::StagePlacement* const placement = topology.add_placement();
    placement->set_stages(stage);
    placement->set_data_plane("dp" + stage);
  }
  v1::Trunk* const trunk = topology.add_trunks();
  trunk->set_name("t0");
  trunk->set_from("dp0");
  trunk->set_from_device("net_memif0,role=server,id=0");
  trunk->set_to("dp1");
  trunk->set_to_device("net_memif0,role=client,id=0");
  return topology;
}

v1::HostPort Port(const std::string& name, const std::string& row, const std::string& device) {
  v1::HostPort port;
  port.set_name(name);
  port.set_rows(row);
  port.set_device(device);
  port.set_data_plane("dp0");
  return port;
}

// Sets circuits up along tag 0, and cannot count links.
class UncountedInBand final : public dataplane::InBand {
 public:
  absl::StatusOr<dataplane::InBandReport> SetUp(
      const std::vector<dataplane::InBandRequest>& requests,
      const dataplane::ProgramParameters&) override {
    dataplane::InBandReport report;
    for (const auto& request : requests) {
      report.paths.push_back({.input = request.input, .output = request.output});
    }
    return report;
  }
  absl::StatusOr<dataplane::InBandReport> SetUpReads(const std::vector<dataplane::InBandRead>&,
                                                     const dataplane::ProgramParameters&) override {
    return absl::UnimplementedError("no reads");
  }
  absl::StatusOr<dataplane::InBandReport> Release(const std::vector<Row>& inputs) override {
    if (inputs.empty()) return absl::DeadlineExceededError("the workers moved no message");
    return dataplane::InBandReport();
  }
  absl::StatusOr<WalkSeconds> Walk(const std::vector<dataplane::InBandRequest>&) override {
    return WalkSeconds();
  }
  std::vector<uint32_t> circuits_on_links() const override { return {1, 2, 3}; }
  std::vector<uint32_t> circuits_at_disks() const override { return {}; }
};

class FabricHostTest : public testing::Test {
 protected:
  std::vector<std::string> PortsOfFabric() {
    std::vector<std::string> names;
    dp0_.Read([&](const dataplane::Fabric& fabric) {
      for (const auto& port : fabric.host_ports()) names.push_back(port.name);
    });
    return names;
  }
  std::vector<std::string> HeldPorts() {
    std::vector<std::string> names;
    const FabricHost::Held held = dp0_.held(true);
    for (const v1::HostPort& port : held.topology.ports()) names.push_back(port.name());
    return names;
  }

  FakeBoard board_;
  FabricHost dp0_{FakeBackend(board_, "dp0"), "dp0"};
  FabricHost dp1_{FakeBackend(board_, "dp1"), "dp1"};
};

TEST_F(FabricHostTest, AFabricIsLoadedWithItsFaults) {
  ASSERT_TRUE(dp1_.Load(Split(), {NodeId{1, 2}, LinkId{1, 0, 1}}).ok());
  // Links of stage 1 are numbered from 8. The node's links of stage 0 are dp0's.
  EXPECT_THAT(board_.TakeLog(),
              ElementsAre("load dp1", "link 9 down", "link 12 down", "link 13 down"));
  EXPECT_THAT(dp1_.held(true).down_nodes, ElementsAre(NodeId{1, 2}));
}

TEST_F(FabricHostTest, AWrongFaultIsRefusedBeforeAFabricIsLoaded) {
  const auto message = [&](const Fault& fault) {
    const absl::Status status = dp1_.Load(Split(), {fault}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message(LinkId{1, 4, 0}), HasSubstr("row: 4 is outside 0..3"));
  EXPECT_THAT(message(LinkId{0, 0, 0}), HasSubstr("stage: 0 is outside 1..1"));
  EXPECT_THAT(board_.TakeLog(), IsEmpty());
}

TEST_F(FabricHostTest, SourcesThatAreRefusedDoNotEndARecording) {
  ASSERT_TRUE(dp1_.Load(Split()).ok());
  ASSERT_TRUE(dp1_.SetSources({}, 1).ok());
  board_.TakeLog();
  const absl::Status refused = dp1_.SetSources({v1::TrafficSource()}, 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(dp1_.held(true).latency_id, 1u);
  EXPECT_THAT(board_.TakeLog(), IsEmpty());
}

TEST_F(FabricHostTest, WhatALateWorkerTakesUpLaterIsHeld) {
  ASSERT_TRUE(dp0_.Load(Split()).ok());
  board_.late_worker = true;
  EXPECT_TRUE(absl::IsDeadlineExceeded(dp0_.SetSources({v1::TrafficSource()}, 0)));
  EXPECT_THAT(dp0_.held(true).sources, SizeIs(1));
  LinkOverrides changes;
  v1::LinkOverride* const change = changes.Add();
  change->set_stages("0");
  change->set_rate("10Mbps");
  EXPECT_TRUE(absl::IsDeadlineExceeded(dp0_.SetLinks(changes)));
  EXPECT_EQ(dp0_.held(true).link_changes.size(), 1);
}

TEST_F(FabricHostTest, APortThatDoesNotOpenAgainIsNamedAndNoLongerHeld) {
  v1::Topology topology = Split();
  *topology.add_ports() = Port("h0", "0", "net_null_h0");
  *topology.add_ports() = Port("h1", "1", "net_null_h1");
  ASSERT_TRUE(dp0_.Load(topology).ok());
  board_.refused_devices = {"net_null_h0", "net_null_new"};
  v1::AgentPortsRequest request;
  *request.add_ports() = Port("h0", "0", "net_null_new");
  *request.add_ports() = topology.ports(1);
  const absl::Status status = dp0_.SetPorts(request);
  EXPECT_EQ(status.message(),
            "port.device: cannot open \"net_null_new\"; port h0 was closed for this and does not "
            "open again: port.device: cannot open \"net_null_h0\"");
  EXPECT_THAT(PortsOfFabric(), ElementsAre("h1"));
  EXPECT_THAT(HeldPorts(), ElementsAre("h1"));
  // As the controller asks that compares the two.
  board_.refused_devices.clear();
  *request.mutable_ports(0) = topology.ports(0);
  ASSERT_TRUE(dp0_.SetPorts(request).ok());
  EXPECT_THAT(PortsOfFabric(), ElementsAre("h1", "h0"));
  EXPECT_THAT(HeldPorts(), ElementsAre("h0", "h1"));
}

TEST_F(FabricHostTest, AnExchangeThatStandsIsAnsweredWithoutTheCountsThatFailed) {
  UncountedInBand in_band;
  board_.in_band = &in_band;
  ASSERT_TRUE(dp0_.Load(Split()).ok());
  InBandTask task;
  task.link_circuits = true;
  EXPECT_TRUE(absl::IsDeadlineExceeded(dp0_.ExchangeInBand(task).status()))
      << "nothing but the counts was asked for";
  task.requests = {{.input = 0, .output = 3}};
  const auto answer = dp0_.ExchangeInBand(task);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->report.paths, SizeIs(1));
  EXPECT_THAT(answer->link_circuits, IsEmpty());
  EXPECT_THAT(dp0_.held(true).circuits, SizeIs(1));
  EXPECT_EQ(dp0_.held(true).revision, answer->revision);
}

}  // namespace
}  // namespace bfly::control
