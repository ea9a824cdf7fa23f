// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/unit/topology_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TopologyValidate, AcceptsAFabricInOnePieceOrSplit) {
  EXPECT_THAT(Wrong(Whole()), IsEmpty());
  EXPECT_THAT(Wrong(Split()), IsEmpty());
}

TEST(TopologyValidate, HoldsMessagesToTheSchemaToo) {
  v1::Topology topology = Whole();
  topology.mutable_network()->set_rows(12);
  topology.mutable_placement(0)->set_lcore(1024);
  topology.mutable_placement(0)->set_stages("0-");
  topology.mutable_links()->set_queue_limit(2'000'000);
  AddPort(topology, "", "1");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre(
          "network.rows: 12 is not a power of two (allowed: powers of two from 2 to 1048576)",
          "placement[0].stages: \"0-\" is not a range (allowed: numbers and ranges separated by "
          "commas, "
          "such as 0-3,8)",
          "placement[0].lcore: 1024 is out of range (allowed: 0 to 1023)",
          "ports[0].name: is missing (for example h0)",
          "links.queue_limit: 2000000 is out of range (allowed: 0 to 1048576)"));
}

TEST(TopologyValidate, RefusesAnEmptyMessage) {
  EXPECT_THAT(Wrong(v1::Topology()),
              ElementsAre("name: is missing (for example demo)",
                          "network: is missing (the emulated network)",
                          "placement: is missing (which lcore runs which rows of which stages)"));
}

TEST(TopologyValidate, AllowsSecondPassesOnlyRoundAWrappedButterfly) {
  v1::Topology topology = Whole();
  topology.mutable_network()->set_passes(2);
  EXPECT_THAT(Wrong(topology),
              ElementsAre("network.passes: 2 needs kind wrapped_butterfly, not butterfly"));
  topology.mutable_network()->set_kind(v1::WRAPPED_BUTTERFLY);
  EXPECT_THAT(Wrong(topology), IsEmpty());
  v1::Topology split = Split();
  split.mutable_network()->set_kind(v1::WRAPPED_BUTTERFLY);
  EXPECT_THAT(Wrong(split), IsEmpty());
  split.mutable_network()->set_passes(2);
  EXPECT_THAT(Wrong(split),
              ElementsAre("network.passes: 2 passes need all stages on one data plane; "
                          "a trunk carries one pass"));
}

TEST(TopologyValidate, NamesDataPlanesThatDoNotExist) {
  v1::Topology topology = Split();
  topology.mutable_placement(1)->set_data_plane("c");
  AddPort(topology, "p", "0", "d");
  AddPort(topology, "q", "1");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre(
          "placement[1].data_plane: \"c\" is not a data plane of this file (allowed: one of a, b)",
          "ports[0].data_plane: \"d\" is not a data plane of this file (allowed: one of a, b)",
          "ports[1].data_plane: is missing, there are 2 data planes (allowed: one of a, b)"));
}

TEST(TopologyValidate, WantsContiguousStagesOnEveryDataPlane) {
  v1::Topology topology = Split();
  topology.mutable_placement(0)->set_stages("0,2");
  topology.mutable_placement(1)->set_stages("1");
  AddTrunk(topology, 0, "a", "b");
  topology.mutable_trunks(0)->set_from("b");
  topology.mutable_trunks(0)->set_to("a");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("placement: a runs stages 0,2, which do not follow one another (allowed: one "
                  "contiguous range for each data plane)"));
  v1::Topology idle = Split();
  idle.add_data_planes()->set_name("c");
  EXPECT_THAT(
      Wrong(idle),
      ElementsAre("data_planes[2].name: no stage is placed on c; place one or leave it out"));
}

TEST(TopologyValidate, WantsATrunkAtEveryBoundaryBetweenDataPlanesAndNowhereElse) {
  v1::Topology without = Split();
  without.clear_trunks();
  EXPECT_THAT(Wrong(without),
              ElementsAre("trunks: no trunk carries the boundary after stage 1, from a to b"));

  v1::Topology inside = Split();
  AddTrunk(inside, 0, "a", "b");
  EXPECT_THAT(Wrong(inside),
              ElementsAre("trunks[1].after_stage: stages 0 and 1 both run on a; no trunk "
                          "goes between them"));

  v1::Topology beyond = Split();
  AddTrunk(beyond, 2, "a", "b");
  EXPECT_THAT(Wrong(beyond),
              ElementsAre("trunks[1].after_stage: 2 is not a boundary between stages "
                          "(allowed: 0 to 1)"));

  v1::Topology twice = Split();
  AddTrunk(twice, 1, "a", "b");
  twice.mutable_trunks(1)->set_name("other");
  twice.mutable_trunks(1)->set_from_device("net_memif2");
  twice.mutable_trunks(1)->set_to_device("net_memif2");
  EXPECT_THAT(Wrong(twice),
              ElementsAre("trunks[1].after_stage: the boundary after stage 1 has a trunk "
                          "already, trunks[0]"));

  v1::Topology reversed = Split();
  reversed.mutable_trunks(0)->set_from("b");
  reversed.mutable_trunks(0)->set_to("a");
  EXPECT_THAT(Wrong(reversed), ElementsAre("trunks[0].from: b does not run stage 1 (allowed: a)",
                                           "trunks[0].to: a does not run stage 2 (allowed: b)"));
}

TEST(TopologyValidate, AttachesEveryRowOnceAndOnlyRowsOfTheNetwork) {
  v1::Topology topology = Whole();
  AddPort(topology, "p", "0-3");
  AddPort(topology, "q", "3-4");
  AddPort(topology, "r", "6-8");
  AddPort(topology, "s", "5,5");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("ports[1].rows: row 3 is attached to ports[0] already (allowed: every row to one "
                  "port)",
                  "ports[2].rows: row 8 is outside 0..7", "ports[3].rows: row 5 is listed twice"));
}

TEST(TopologyValidate, AttachesTheTwoEndsOfASplitFabricApart) {
  v1::Topology topology = Split();
  AddPort(topology, "in", "0", "a");
  AddPort(topology, "out", "0", "b");
  EXPECT_THAT(Wrong(topology), IsEmpty());
  AddPort(topology, "again", "0", "b");
  EXPECT_THAT(Wrong(topology), ElementsAre("ports[2].rows: row 0 is attached to ports[1] already "
                                           "(allowed: every row to one port)"));

  v1::Topology three = Butterfly8();
  for (const char* name : {"a", "b", "c"}) three.add_data_planes()->set_name(name);
  Place(three, "0", "a");
  Place(three, "1", "b");
  Place(three, "2", "c");
  AddTrunk(three, 0, "a", "b");
  AddTrunk(three, 1, "b", "c");
  AddPort(three, "p", "0", "b");
  EXPECT_THAT(
      Wrong(three),
      ElementsAre("ports[0].data_plane: b runs neither the first nor the last stage, nothing "
                  "can be attached there (allowed: a, c)"));
}

TEST(TopologyValidate, WantsNamesAndDevicesOnce) {
  v1::Topology topology = Split();
  topology.add_data_planes()->set_name("a");
  AddPort(topology, "t1", "0", "a");
  AddPort(topology, "q", "1", "a");
  topology.mutable_ports(1)->set_device("net_memif1,role=client,id=7");
  EXPECT_THAT(Wrong(topology),
              ElementsAre("data_planes[2].name: \"a\" is taken by data_planes[0].name",
                          "trunks[0].name: \"t1\" is taken by ports[0].name",
                          "trunks[0].from_device: \"net_memif1\" is taken by ports[1].device "
                          "(allowed: every device once in a data plane)"));
}

TEST(TopologyValidate, LetsUnnumberedDevicesRepeatButNotKernelInterfaces) {
  v1::Topology topology = Whole();
  for (const char* row : {"0", "1", "2", "3"}) AddPort(topology, std::string("p") + row, row);
  topology.mutable_ports(0)->set_device("net_null");
  topology.mutable_ports(1)->set_device("net_null");
  topology.mutable_ports(2)->set_device("net_af_xdp,iface=bf0");
  topology.mutable_ports(3)->set_device("net_af_packet7,iface=bf0");
  EXPECT_THAT(Wrong(topology),
              ElementsAre("ports[3].device: \"iface=bf0\" is taken by ports[2].device "
                          "(allowed: every device once in a data plane)"));
}

TEST(TopologyValidate, LetsNoDeviceHaveTheNameOfAnotherWithAnotherInterface) {
  v1::Topology topology = Whole();
  for (const char* row : {"0", "1", "2"}) AddPort(topology, std::string("p") + row, row);
  topology.mutable_ports(0)->set_device("net_af_xdp0,iface=bf0");
  topology.mutable_ports(1)->set_device("net_af_xdp0,iface=bf1");
  topology.mutable_ports(2)->set_device("net_af_xdp1,iface=bf2");
  EXPECT_THAT(Wrong(topology),
              ElementsAre("ports[1].device: \"net_af_xdp0\" is taken by ports[0].device "
                          "(allowed: every device once in a data plane)"));
}

TEST(TopologyValidate, BoundsTheLengthOfADevice) {
  v1::Topology topology = Whole();
  AddPort(topology, "p", "0");
  topology.mutable_ports(0)->set_device(std::string(4096, 'x'));
  EXPECT_THAT(Wrong(topology), IsEmpty());
  topology.mutable_ports(0)->set_device(std::string(4097, 'x'));
  EXPECT_THAT(Wrong(topology), ElementsAre("ports[0].device: \"" + std::string(80, 'x') +
                                           "...\" has 4097 characters (allowed: up to 4096)"));
}

TEST(TopologyValidate, WantsMemoryForTheReceiveRings) {
  v1::Topology topology = Whole();
  topology.add_data_planes()->set_name("dp0");
  topology.mutable_data_planes(0)->set_memory_mb(64);
  topology.set_max_frame_bytes(1518);
  for (int row = 0; row < 8; ++row) {
    AddPort(topology, "p" + std::to_string(row), std::to_string(row));
    topology.mutable_ports(row)->set_queue_pairs(4);
  }
  EXPECT_THAT(Wrong(topology), IsEmpty()) << "32 queue pairs x 1,024 x 2 KiB are exactly 64 MiB";
  topology.mutable_ports(0)->set_queue_pairs(5);
  EXPECT_THAT(Wrong(topology),
              ElementsAre("data_planes[0].memory_mb: 64 MiB cannot hold the receive "
                          "rings of 33 queue pairs (allowed: 66 or more)"));
}

TEST(TopologyValidate, RefusesNamesThatWouldLeaveTheRunDirectory) {
  v1::Topology topology = Whole();
  topology.add_data_planes()->set_name("../dp0");
  topology.mutable_data_planes(0)->set_address("somewhere");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("data_planes[0].name: \"../dp0\" is not a name (allowed: up to 32 letters, "
                  "digits, '_', '-' and '.', the first a letter or digit)",
                  "data_planes[0].address: \"somewhere\" is not a gRPC address (allowed: unix:PATH "
                  "of up to 107 characters, or HOST:PORT)"));
}

TEST(TopologyValidate, KeepsTheControllersNameForTheController) {
  v1::Topology topology = Whole();
  topology.add_data_planes()->set_name("controller");
  EXPECT_THAT(Wrong(topology),
              ElementsAre("data_planes[0].name: \"controller\" is the controller's name in the run "
                          "directory; choose another"));
}

TEST(TopologyValidate, WantsAnIpv4BlockBigEnoughForTheRows) {
  const auto with_prefix = [](const std::string& prefix) {
    v1::Topology topology = Whole();
    topology.mutable_addressing()->set_mode(v1::Addressing::IPV4_PREFIX);
    topology.mutable_addressing()->set_ipv4_prefix(prefix);
    return Wrong(topology);
  };
  EXPECT_THAT(with_prefix("10.77.0.16/29"), IsEmpty());
  EXPECT_THAT(with_prefix("0.0.0.0/1"), IsEmpty());
  EXPECT_THAT(with_prefix(""),
              ElementsAre("addressing.ipv4_prefix: is missing, mode ipv4_prefix needs "
                          "it (for example 10.77.0.16/28)"));
  EXPECT_THAT(
      with_prefix("10.77.0.16/30"),
      ElementsAre("addressing.ipv4_prefix: 10.77.0.16/30 has 4 addresses, too few for 8 rows "
                  "(allowed: /29 or a smaller number)"));
  EXPECT_THAT(
      with_prefix("10.77.0.17/28"),
      ElementsAre("addressing.ipv4_prefix: \"10.77.0.17/28\" has bits set after its first 28; "
                  "the block begins at 10.77.0.16 (allowed: ADDRESS/LENGTH, such as "
                  "10.77.0.16/28)"));
  EXPECT_THAT(with_prefix("224.0.0.0/8"),
              ElementsAre("addressing.ipv4_prefix: \"224.0.0.0/8\" reaches into multicast, from "
                          "224.0.0.0 on (allowed: ADDRESS/LENGTH, such as 10.77.0.16/28)"));
  for (const char* junk :
       {"10.77.0.16", "10.77.0/28", "10.77.0.256/28", "10.77.0.16/33", "a.b.c.d/8",
        "10.77.0.16/28/1", "1.2.3.-4/8", "01.2.3.4/8", "/", " 10.0.0.0/8"}) {
    EXPECT_THAT(with_prefix(junk), testing::SizeIs(1)) << junk;
  }
}

TEST(TopologyValidate, RefusesAPrefixThatHasNoEffect) {
  v1::Topology topology = Whole();
  topology.mutable_addressing()->set_ipv4_prefix("10.0.0.0/8");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("addressing.ipv4_prefix: has no effect with mode mac; set addressing.mode to "
                  "ipv4_prefix or leave it out"));
}

TEST(TopologyValidate, TranslatesOnlyTheMacOfAPortOfOneRow) {
  v1::Topology topology = Whole();
  AddPort(topology, "p", "0-1");
  topology.mutable_ports(0)->set_translate_mac(true);
  EXPECT_THAT(Wrong(topology),
              ElementsAre("ports[0].translate_mac: a port of 2 rows has no one MAC address to "
                          "translate to (allowed: false)"));
  topology.mutable_ports(0)->set_rows("0");
  EXPECT_THAT(Wrong(topology), IsEmpty());
  topology.mutable_addressing()->set_mode(v1::Addressing::IPV4_PREFIX);
  topology.mutable_addressing()->set_ipv4_prefix("10.77.0.16/29");
  EXPECT_THAT(Wrong(topology),
              ElementsAre("ports[0].translate_mac: hosts keep their MAC address anyway "
                          "unless the mode is mac (allowed: false)"));
}

TEST(TopologyValidate, WantsNoMoreLcoresThanQueues) {
  v1::Topology topology = Whole();
  AddPort(topology, "p", "0");
  topology.mutable_ports(0)->add_lcores(0);
  topology.mutable_ports(0)->add_lcores(1);
  EXPECT_THAT(Wrong(topology),
              ElementsAre("ports[0].lcores: 2 lcores for 1 queue pair (allowed: at "
                          "most one a queue pair)"));
}

TEST(TopologyValidate, StaysQuickWhenEveryPortClaimsEveryRow) {
  v1::Topology topology = Whole();
  topology.mutable_network()->set_rows(1 << 20);
  topology.mutable_placement(0)->set_stages("0-19");
  for (int i = 0; i < 20'000; ++i) AddPort(topology, "p" + std::to_string(i), "0-1048575");
  EXPECT_EQ(Wrong(topology).size(), 20'000u) << "all ports but the first, and the memory";
}

}  // namespace
}  // namespace bfly::control
