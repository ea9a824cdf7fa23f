// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/to_fabric_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kSplit[] = R"(
name: split
network: {kind: two_fold_butterfly, rows: 8, seed: 5}
addressing: {mode: ipv4_prefix, ipv4_prefix: 10.77.0.16/28}
data_planes:
  - {name: left, idle: poll}
  - {name: right}
placement:
  - {stages: "2", lcore: 3, data_plane: left}
  - {stages: "0-1", lcore: 2, data_plane: left}
  - {stages: "3,4-5", lcore: 1, data_plane: right}
ports:
  - {name: in, device: net_null0, rows: "1,4-5", data_plane: left, queue_pairs: 2, lcores: [2, 3]}
  - {name: out, device: net_null0, rows: "7", data_plane: right}
trunks:
  - {name: t, after_stage: 2, from: left, from_device: memA, to: right, to_device: memB, queue_pairs: 4}
circuits: {without_circuit: drop}
links: {queue_limit: 64}
max_frame_bytes: 9018
)";

v1::Topology Read(const char* text) {
  const auto topology = ReadTopology(text, "test");
  EXPECT_TRUE(topology.ok()) << topology.status();
  return topology.ok() ? *topology : v1::Topology();
}

TEST(ToFabricConfig, GivesEachDataPlaneItsPart) {
  const auto left = ToFabricConfig(Read(kSplit), "left");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->name, "split");
  EXPECT_EQ(left->network.kind, NetworkKind::kTwoFoldButterfly);
  EXPECT_EQ(left->network.rows, 8u);
  EXPECT_EQ(left->network.seed, 5u);
  EXPECT_EQ(left->network.passes, 1);
  EXPECT_EQ(left->idle, dataplane::IdleMode::kPoll);
  ASSERT_THAT(left->placement, SizeIs(2)) << "in the order of the stages";
  EXPECT_EQ(left->placement[0].first_stage, 0);
  EXPECT_EQ(left->placement[0].last_stage, 1);
  EXPECT_EQ(left->placement[0].lcore, 2);
  EXPECT_EQ(left->placement[1].first_stage, 2);
  EXPECT_EQ(left->placement[1].lcore, 3);
  ASSERT_THAT(left->ports, SizeIs(1));
  EXPECT_EQ(left->ports[0].name, "in");
  EXPECT_THAT(left->ports[0].rows, ElementsAre(1, 4, 5));
  EXPECT_THAT(left->rows_elsewhere, ElementsAre(7)) << "floods of the left reach the right";
  EXPECT_EQ(left->ports[0].queue_pairs, 2);
  EXPECT_THAT(left->ports[0].lcores, ElementsAre(2, 3));
  ASSERT_THAT(left->trunks, SizeIs(1));
  EXPECT_EQ(left->trunks[0].device, "memA");
  EXPECT_TRUE(left->trunks[0].sends);
  EXPECT_EQ(left->trunks[0].after_stage, 2);
  EXPECT_EQ(left->trunks[0].queue_pairs, 4);
  EXPECT_EQ(left->without_circuit, dataplane::WithoutCircuit::kDrop);
  EXPECT_EQ(left->links.base.queue_limit, 64u);
  EXPECT_EQ(left->max_frame_bytes, 9018u);
  EXPECT_EQ(left->addressing.mode, dataplane::AddressingMode::kIpv4Prefix);
  EXPECT_EQ(left->addressing.ipv4_base, 0x0a4d0010u);
  EXPECT_EQ(left->addressing.ipv4_prefix_len, 28);

  const auto right = ToFabricConfig(Read(kSplit), "right");
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->idle, dataplane::IdleMode::kAdaptive);
  EXPECT_THAT(right->rows_elsewhere, ElementsAre(1, 4, 5));
  ASSERT_THAT(right->placement, SizeIs(2));
  EXPECT_EQ(right->placement[0].first_stage, 3);
  EXPECT_EQ(right->placement[1].last_stage, 5);
  ASSERT_THAT(right->trunks, SizeIs(1));
  EXPECT_EQ(right->trunks[0].device, "memB");
  EXPECT_FALSE(right->trunks[0].sends);
}

TEST(ToFabricConfig, TranslatesMacsOfPortsOfOneRowInMacMode) {
  const auto config = ToFabricConfig(Read(R"(
name: t
network: {kind: wrapped_butterfly, rows: 4, passes: 2}
placement: [{stages: 0-1}]
ports:
  - {name: one, device: d0, rows: 0}
  - {name: two, device: d1, rows: 1-2}
  - {name: own, device: d2, rows: 3, translate_mac: false}
)"),
                                     "dp0");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->network.passes, 2);
  EXPECT_TRUE(config->ports[0].translate_mac);
  EXPECT_FALSE(config->ports[1].translate_mac);
  EXPECT_FALSE(config->ports[2].translate_mac);
  EXPECT_THAT(config->trunks, IsEmpty());
}

TEST(ToFabricConfig, NamesADataPlaneThatIsNotThere) {
  const auto config = ToFabricConfig(Read(kSplit), "middle");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(config.status().message(),
            "data_plane: \"middle\" is not a data plane of topology split");
}

TEST(NetworkOf, RefusesAKindItDoesNotKnow) {
  v1::Network network;
  network.set_rows(4);
  EXPECT_FALSE(NetworkOf(network).ok());
  network.set_kind(static_cast<v1::NetworkKind>(99));
  EXPECT_FALSE(NetworkOf(network).ok());
  network.set_kind(v1::BUTTERFLY);
  EXPECT_TRUE(NetworkOf(network).ok());
}

}  // namespace
}  // namespace bfly::control
