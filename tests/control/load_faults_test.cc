// SPDX-License-Identifier: Apache-2.0
// Faults of a load are there before the first frame, although frames wait in the port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/agent/fabric_host.h"
#include "dataplane/runtime/cpus.h"
#include "tests/control/service_fixture.h"
#include "tests/packet/ring_port.h"

namespace bfly::control {
namespace {

constexpr uint32_t kFrames = 512;

class LoadFaultsTest : public testing::Test {
 protected:
  // A butterfly of 4 rows: frames from row 0 to row 3 have one path.
  v1::Topology WithFrames() {
    v1::Topology topology;
    topology.set_name("test");
    topology.mutable_network()->set_kind(v1::BUTTERFLY);
    topology.mutable_network()->set_rows(4);
    topology.add_data_planes()->set_name("dp0");
    v1::StagePlacement* const placement = topology.add_placement();
    placement->set_stages("0-1");
    placement->set_lcore(static_cast<uint32_t>(dataplane::UsableCpus().front()));
    const dataplane::HostPortConfig config = host_.Config({0});
    v1::HostPort* const port = topology.add_ports();
    port->set_name(config.name);
    port->set_device(config.device);
    port->set_rows("0");
    for (uint32_t i = 0; i < kFrames; ++i) EXPECT_TRUE(host_.Send(frames_.Make(0, 3, i)));
    return topology;
  }
  // The link of stage 0 on the path.
  static LinkId Crossed() {
    const auto network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 4});
    const Row next = WalkTag(*network, 0, GreedyTag(*network, 0, 3))[1];
    return {0, 0, network->next_row(0, 0, 0) == next ? 0 : 1};
  }

  dataplane::FrameSource frames_;  // outlives the port, which holds its frames
  dataplane::RingPort host_;
  FabricHost fabric_{
      FabricBackend{.verify = dataplane::Fabric::Verify, .load = dataplane::Fabric::Load}, "dp0"};
};

TEST_F(LoadFaultsTest, NoFrameCrossesALinkThatIsDownFromTheBeginning) {
  const absl::Status loaded = fabric_.Load(WithFrames(), {Crossed()}).status();
  ASSERT_TRUE(loaded.ok()) << loaded;
  const auto dropped = [&] {
    return fabric_.snapshot(false)->drops[static_cast<int>(dataplane::DropReason::kLinkDown)];
  };
  EXPECT_TRUE(Eventually([&] { return dropped() == kFrames; })) << dropped();
  const auto snapshot = fabric_.snapshot(true);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  for (const auto& link : snapshot->links) EXPECT_EQ(link.packets, 0u);
  EXPECT_TRUE(fabric_.Unload().ok());
}

TEST_F(LoadFaultsTest, AWrongFaultIsRefusedBeforeAFrameIsTakenIn) {
  const absl::Status refused = fabric_.Load(WithFrames(), {LinkId{0, 4, 0}}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(host_.waiting_to_enter(), kFrames);
}

}  // namespace
}  // namespace bfly::control
