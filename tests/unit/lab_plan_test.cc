// SPDX-License-Identifier: Apache-2.0
// What follows from the hosts of a topology, as a value, and the journal of what was made of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "control/lab/journal.h"
#include "control/lab/plan.h"
#include "control/topology_file/reader.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Topology Read(const std::string& hosts, const std::string& more = "") {
  const auto read = ReadTopology(
      "name: d\nnetwork: {kind: butterfly, rows: 262144}\nplacement: [{stages: 0-17}]\nhosts:\n" +
          hosts + more,
      "a");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *read : v1::Topology();
}

TEST(LabPlan, AHostIsANamespaceAndAVethPair) {
  const auto plan =
      PlanLab(Read("  - {name: a, rows: 131843, addresses: [10.0.0.1/24, 10.1.0.1/24], mtu: 1400, "
                   "queue_pairs: 2, routes: [{to: default, via: 10.0.0.9}, {to: 10.9.0.0/16}]}\n"),
              "lab");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->fabric, NamespaceRef::Named("lab-fabric"));
  EXPECT_THAT(plan->namespaces,
              ElementsAre(PlannedNamespace{"lab-fabric", "data_planes[0].network_namespace", false},
                          PlannedNamespace{"lab-a", "hosts[0].name", false}));
  const PlannedLink link{.field = "hosts[0]",
                         .port_namespace = NamespaceRef::Named("lab-fabric"),
                         .port_interface = "bf131843",
                         .host_namespace = NamespaceRef::Named("lab-a"),
                         .host_interface = "eth0",
                         .host_mac = "02:bf:00:02:03:03",  // 131843 = 0x020303
                         .mtu = 1400,
                         .queues = 2,
                         .ipv6 = false,
                         .addresses = {"10.0.0.1/24", "10.1.0.1/24"},
                         .routes = {{"default", "10.0.0.9"}, {"10.9.0.0/16", ""}}};
  EXPECT_THAT(plan->links, ElementsAre(link));
  EXPECT_THAT(plan->needed, IsEmpty());
  ASSERT_EQ(plan->hosts.size(), 1u);
  EXPECT_EQ(plan->hosts[0].where.path(), "/run/netns/lab-a");
}

TEST(LabPlan, OtherHostsAreThereAlready) {
  const auto plan = PlanLab(Read("  - {name: a, rows: 1, kind: container, pid: 77, interface: x}\n"
                                 "  - {name: b, rows: 2, kind: machine, vhost_socket: /v}\n"
                                 "  - {name: c, rows: 3, addresses: \"fd00::1/64\"}\n"),
                            "lab");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->namespaces.size(), 2u);
  EXPECT_EQ(plan->namespaces[1].name, "lab-c");
  ASSERT_EQ(plan->links.size(), 2u);
  EXPECT_EQ(plan->links[0].host_namespace.path(), "/proc/77/ns/net");
  EXPECT_EQ(plan->links[0].host_interface, "x");
  EXPECT_EQ(plan->links[0].mtu, 1500u);
  EXPECT_FALSE(plan->links[0].ipv6);
  EXPECT_TRUE(plan->links[1].ipv6);
  ASSERT_EQ(plan->hosts.size(), 3u);
  EXPECT_FALSE(plan->hosts[1].has_namespace);
  EXPECT_EQ(plan->hosts[1].port, "/v");
}

TEST(LabPlan, TheDataPlaneRunsWhereTheFileSaysOrWhereItsInterfacesAre) {
  const std::string own = "  - {name: a, rows: 1}\n";
  const std::string there = "  - {name: b, rows: 2, kind: interface, port_interface: eno2}\n";
  const std::string named = "data_planes: [{name: dp0, network_namespace: mine}]\n";
  const auto said = PlanLab(Read(own + there, named), "lab");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->fabric, NamespaceRef::Named("mine"));
  EXPECT_TRUE(said->namespaces[0].may_be_used);
  const auto caller = PlanLab(Read(own + there), "lab");
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->fabric, NamespaceRef());
  EXPECT_THAT(caller->namespaces, ElementsAre(PlannedNamespace{"lab-a", "hosts[0].name", false}));
  EXPECT_THAT(caller->needed, ElementsAre(NeededInterface{"hosts[1].port_interface", {}, "eno2"}));
}

TEST(LabPlan, ALabHasANameAndHosts) {
  const v1::Topology topology = Read("  - {name: a, rows: 1}\n");
  const std::vector<std::string> names = {"", "-a", "a/b", "a b", std::string(65, 'a')};
  for (const std::string& wrong : names) {
    EXPECT_THAT(std::string(PlanLab(topology, wrong).status().message()),
                HasSubstr("is not the name of a lab"))
        << wrong;
  }
  v1::Topology without = topology;
  without.clear_hosts();
  EXPECT_THAT(std::string(PlanLab(without, "a").status().message()),
              HasSubstr("hosts: is missing"));
}

LabRecord Everything() {
  LabRecord record;
  record.name = "lab";
  record.boot = "b-1";
  record.mark = "bfly lab 12\n";
  record.hosts = {{.name = "a",
                   .kind = "namespace",
                   .rows = "3",
                   .has_namespace = true,
                   .where = NamespaceRef::Named("lab-a"),
                   .interface = "eth0",
                   .port = "bf3",
                   .addresses = {"10.0.0.1/24"}},
                  {.name = "c",
                   .kind = "container",
                   .rows = "4",
                   .has_namespace = true,
                   .where = NamespaceRef::OfProcess(77),
                   .interface = "eth1",
                   .port = "bf4",
                   .addresses = {}},
                  {.name = "m",
                   .kind = "machine",
                   .rows = "5",
                   .has_namespace = false,
                   .where = {},
                   .interface = "",
                   .port = "/v",
                   .addresses = {}}};
  record.used = {{NamespaceRef(), 1, "eno2"}, {NamespaceRef::Named("mine"), 6, "eno3"}};
  record.namespaces = {{"lab-fabric", 5}, {"lab-a", (uint64_t{1} << 63) + 7}};
  record.links = {{.port = {NamespaceRef(), 1, "bf3", "06:00:00:00:00:01"},
                   .host = {NamespaceRef::Named("lab-a"), 7, "eth0", "02:bf:00:00:00:03"}},
                  {.port = {NamespaceRef(), 1, "bf4", "06:00:00:00:00:02"},
                   .host = {NamespaceRef::OfProcess(77), 9, "eth1", "02:bf:00:00:00:04"}}};
  record.up = true;
  return record;
}

std::string JournalOf(const LabRecord& record) {
  std::string text = HeadLine(record);
  for (const MadeNamespace& made : record.namespaces) text += LineOf(made);
  for (const MadeLink& made : record.links) text += LineOf(made);
  return record.up ? text + UpLine() : text;
}

TEST(LabJournal, IsReadAsItWasWritten) {
  const auto read = ParseJournal(JournalOf(Everything()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Everything());
}

// Cut at any byte, a journal says what its whole lines say.
TEST(LabJournal, ALineWithoutItsEndWasNotWritten) {
  const std::string text = JournalOf(Everything());
  size_t whole = 0;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    if (cut > 0 && text[cut - 1] == '\n') ++whole;
    const auto read = ParseJournal(text.substr(0, cut));
    if (whole == 0) {
      EXPECT_TRUE(absl::IsNotFound(read.status())) << cut;
      continue;
    }
    ASSERT_TRUE(read.ok()) << cut << " " << read.status();
    EXPECT_EQ(1 + read->namespaces.size() + read->links.size() + (read->up ? 1 : 0), whole) << cut;
  }
  EXPECT_EQ(whole, 6u);
}

TEST(LabJournal, WhoReadsALineThatIsBeingWrittenLeavesItThere) {
  const TemporaryFolder folder;
  const std::string path = LabJournal::PathIn(folder.path());
  std::ofstream(path) << HeadLine(Everything()).substr(0, 9);
  EXPECT_TRUE(absl::IsNotFound(LabJournal::Read(folder.path()).status()));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(LabJournal, ADamagedLineIsNamed) {
  LabRecord record = Everything();
  const std::string head = HeadLine(record);
  for (const std::string wrong : {"\n", "x\n", "{}\n", "{\"namespace\": 3, \"cookie\": 1}\n",
                                  "{\"namespace\": \"a\"}\n", "[1]\n", "null\n", "\xff\n"}) {
    const auto read = ParseJournal(head + wrong);
    EXPECT_TRUE(absl::IsDataLoss(read.status())) << wrong;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("line 2 is damaged")) << wrong;
  }
  EXPECT_THAT(std::string(ParseJournal("{\"bfly_lab\": 2}\n").status().message()),
              HasSubstr("version 2, this bfly reads version 1"));
}

}  // namespace
}  // namespace bfly::control
