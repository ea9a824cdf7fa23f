// SPDX-License-Identifier: Apache-2.0
// Topology files of networks with several ports a direction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string FileWith(const std::string& network, const std::string& more = "") {
  return "name: d\nnetwork:\n  rows: 8\n" + network + "placement: [{stages: 0-2}]\n" + more;
}

std::string ErrorsOf(const std::string& network, const std::string& more = "") {
  return std::string(ReadTopology(FileWith(network, more), "a").status().message());
}

TEST(TopologyPorts, AFileSaysHowManyADirectionHasAndHowOneIsPicked) {
  const auto read = ReadTopology(
      FileWith("  kind: dilated_butterfly\n  multiplicity: 2\n  rule: least_occupied\n"), "a");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto spec = ToNetworkSpec(read->network());
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->kind, NetworkKind::kDilatedButterfly);
  EXPECT_EQ(spec->multiplicity, 2);
  EXPECT_EQ(spec->rule, PortRule::kLeastOccupied);
  const auto plain = ReadTopology(FileWith("  kind: butterfly\n"), "a");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(ToNetworkSpec(plain->network())->multiplicity, 1);
  EXPECT_FALSE(ToNetworkSpec(plain->network())->rule.has_value());
}

TEST(TopologyPorts, WhatCannotBeIsRefusedWithItsLine) {
  const std::string dilated = "  kind: dilated_butterfly\n";
  EXPECT_THAT(ErrorsOf(dilated + "  multiplicity: 0\n"),
              EndsWith("a:5: network.multiplicity: 0 is out of range (allowed: 1 to 16)"));
  EXPECT_THAT(ErrorsOf(dilated + "  multiplicity: 9\n"),
              EndsWith("a:5: network.multiplicity: 9 is outside 1..8, which a dilated_butterfly "
                       "may have"));
  EXPECT_THAT(ErrorsOf(dilated + "  multiplicity: 17\n"),
              EndsWith("a:5: network.multiplicity: 17 is out of range (allowed: 1 to 16)"));
  EXPECT_THAT(ErrorsOf("  kind: butterfly\n  multiplicity: 2\n"),
              EndsWith("a:5: network.multiplicity: 2 needs kind dilated_butterfly or "
                       "multibutterfly, not butterfly"));
  for (const std::string& kind : {std::string("  kind: butterfly\n"), dilated}) {
    EXPECT_THAT(ErrorsOf(kind + "  rule: random\n"),
                HasSubstr("a:5: network.rule: random has nothing to choose from: this network has "
                          "one port a direction"));
  }
  EXPECT_THAT(ErrorsOf(dilated + "  multiplicity: 2\n  rule: best\n"),
              HasSubstr("a:6: network.rule: \"best\" is unknown"));
}

TEST(TopologyPorts, AFileSaysHowAMultibutterflyIsWired) {
  const std::string multi = "  kind: multibutterfly\n  multiplicity: 2\n  seed: 7\n";
  const auto read = ReadTopology(FileWith(multi + "  parallel_edges: avoid\n"), "a");
  ASSERT_TRUE(read.ok()) << read.status();
  const auto spec = ToNetworkSpec(read->network());
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->kind, NetworkKind::kMultibutterfly);
  EXPECT_EQ(spec->multiplicity, 2);
  EXPECT_EQ(spec->seed, 7u);
  EXPECT_EQ(spec->parallel_edges, ParallelEdges::kAvoid);
  EXPECT_EQ(ErrorsOf(multi + "  parallel_edges: keep\n"), "");
  EXPECT_THAT(ErrorsOf(multi + "  parallel_edges: merge\n"),
              HasSubstr("a:7: network.parallel_edges: \"merge\" is unknown"));
  EXPECT_THAT(ErrorsOf("  kind: butterfly\n  parallel_edges: keep\n"),
              HasSubstr("a:5: network.parallel_edges: keep needs kind multibutterfly, not "
                        "butterfly"));
  EXPECT_THAT(ErrorsOf("  kind: multibutterfly\n  multiplicity: 5\n"),
              HasSubstr("a:5: network.multiplicity: 5 is more than a splitter of 8 rows can take"));
  EXPECT_THAT(ErrorsOf("  kind: multibutterfly\n  multiplicity: 17\n"),
              HasSubstr("a:5: network.multiplicity: 17 is out of range (allowed: 1 to 16)"));
  EXPECT_THAT(std::string(ReadTopology("name: d\nnetwork: {kind: multibutterfly, rows: 12}\n"
                                       "placement: [{stages: 0-2}]\n",
                                       "a")
                              .status()
                              .message()),
              HasSubstr("a:2: network.rows: 12 is not a power of two"));
}

TEST(TopologyPorts, AFileGivesAButterflyExtraStages) {
  const auto with = [](const std::string& network) {
    return std::string(
        ReadTopology("name: d\nnetwork:\n  rows: 8\n" + network + "placement: [{stages: 0-4}]\n",
                     "a")
            .status()
            .message());
  };
  EXPECT_EQ(with("  kind: butterfly\n  extra_stages: 2\n"), "");
  EXPECT_THAT(with("  kind: butterfly\n  extra_stages: 1\n"),
              HasSubstr("a:6: placement[0].stages"));
  EXPECT_THAT(with("  kind: butterfly\n  extra_stages: 21\n"),
              HasSubstr("a:5: network.extra_stages: 21 is out of range (allowed: 0 to 20)"));
  EXPECT_THAT(with("  kind: hypercube\n  extra_stages: 2\n"),
              HasSubstr("a:5: network.extra_stages: 2 needs kind butterfly, not hypercube"));
}

TEST(TopologyPorts, LinksAndCapacitiesNameThePortsTheNetworkHas) {
  const std::string two = "  kind: dilated_butterfly\n  multiplicity: 2\n";
  const auto with_port = [](int port) {
    const std::string text = "port: " + std::to_string(port);
    return "links: {overrides: [{rate: 1Mbps, " + text +
           "}]}\ncircuits: {link_capacities: [{stage: 0, row: 0, capacity: 1, " + text + "}]}\n";
  };
  EXPECT_EQ(ErrorsOf(two, with_port(3)), "");
  EXPECT_THAT(
      ErrorsOf(two, with_port(4)),
      AllOf(HasSubstr("links.overrides[0].port: 4 is not a port of this network (allowed: 0..3)"),
            HasSubstr("circuits.link_capacities[0].port: 4 is not a port of this network "
                      "(allowed: 0..3)")));
}

}  // namespace
}  // namespace bfly::control
