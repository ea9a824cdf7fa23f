// SPDX-License-Identifier: Apache-2.0
// The hosts section of topology files: the ports that follow from it, and what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/host_ports.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

// The hosts begin on line 5.
std::string FileOfHosts(const std::string& hosts, const std::string& more = "") {
  return "name: d\nnetwork: {kind: butterfly, rows: 8}\nplacement: [{stages: 0-2}]\nhosts:\n" +
         hosts + more;
}

std::vector<std::string> ErrorsOfFile(const std::string& file) {
  std::vector<std::string> errors;
  for (const Diagnostic& diagnostic : ParseTopology(file, "a").diagnostics) {
    errors.push_back(ToString(diagnostic));
  }
  return errors;
}

std::vector<std::string> HostErrors(const std::string& hosts, const std::string& more = "") {
  return ErrorsOfFile(FileOfHosts(hosts, more));
}

// The only error of a host on line 5.
std::string HostError(const std::string& host, const std::string& more = "") {
  const std::vector<std::string> errors = HostErrors("  - {" + host + "}\n", more);
  EXPECT_EQ(errors.size(), 1u) << testing::PrintToString(errors);
  return errors.empty() ? "" : errors.front();
}

TEST(TopologyHosts, EveryHostHasAPortOfItsName) {
  const auto read = ReadTopology(
      FileOfHosts("  - {name: a, rows: 3, addresses: 10.0.0.1/24}\n"
                  "  - {name: b, rows: 4-5, kind: container, pid: 12, queue_pairs: 2}\n"
                  "  - {name: c, rows: 6, kind: interface, port_interface: eno2}\n"
                  "  - {name: d, rows: 7, kind: machine, vhost_socket: /tmp/vm.sock}\n"
                  "  - {name: e, rows: 0, port_interface: left}\n",
                  "ports: [{name: p, device: net_null, rows: 1}]\n"),
      "a");
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<std::string> ports;
  for (const v1::HostPort& port : read->ports()) {
    ports.push_back(port.name() + " " + port.device() + " " + port.rows() + " " +
                    std::to_string(port.queue_pairs()) + (port.translate_mac() ? " mac" : ""));
  }
  EXPECT_THAT(ports, ElementsAre("p net_null 1 1 mac", "a net_af_xdp,iface=bf3 3 1 mac",
                                 "b net_af_xdp,iface=bf4 4-5 2", "c net_af_xdp,iface=eno2 6 1 mac",
                                 "d net_vhost,iface=/tmp/vm.sock,queues=1 7 1 mac",
                                 "e net_af_xdp,iface=left 0 1 mac"));
  EXPECT_THAT(PortFields(*read),
              ElementsAre("ports[0]", "hosts[0]", "hosts[1]", "hosts[2]", "hosts[3]", "hosts[4]"));
  const auto config = ToFabricConfig(*read, "dp0");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ports.size(), 6u);
}

TEST(TopologyHosts, ATopologyThatIsCompleteStaysAsItIs) {
  const auto read = ReadTopology(FileOfHosts("  - {name: a, rows: 3}\n"), "a");
  ASSERT_TRUE(read.ok());
  v1::Topology again = *read;
  EXPECT_THAT(CheckTopology(&again), IsEmpty());
  EXPECT_EQ(again.SerializeAsString(), read->SerializeAsString());
}

TEST(TopologyHosts, RowsAndInterfacesBelongToOne) {
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3}\n  - {name: b, rows: 2-3}\n"),
              ElementsAre("a:6: hosts[1].rows: row 3 is attached to hosts[0] already (allowed: "
                          "every row to one port)"));
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3}\n",
                         "ports:\n  - {name: p, device: \"net_af_xdp,iface=bf3\", rows: 1}\n"),
              ElementsAre("a:5: hosts[0].port_interface: \"iface=bf3\" is taken by "
                          "ports[0].device (allowed: every device once in a data plane)"));
  EXPECT_THAT(HostError("name: a, rows: 8"), EndsWith("hosts[0].rows: row 8 is outside 0..7"));
  EXPECT_THAT(
      HostErrors("  - {name: a, rows: 3}\n", "ports:\n  - {name: a, device: net_null, rows: 1}\n"),
      ElementsAre("a:5: hosts[0].name: \"a\" is taken by ports[0]; a host has a port of "
                  "its name, which follows from the host"));
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3}\n  - {name: a, rows: 4}\n"),
              ElementsAre("a:6: hosts[1].name: \"a\" is taken by hosts[0].name"));
  EXPECT_THAT(HostError("name: fabric, rows: 3"),
              EndsWith("hosts[0].name: \"fabric\" is the name of the data plane's network "
                       "namespace; choose another"));
  EXPECT_THAT(HostError("name: -a, rows: 3"),
              HasSubstr("a:5: hosts[0].name: \"-a\" is not a name"));
}

TEST(TopologyHosts, RowsBelongToOneInAFileWithoutAPlacementToo) {
  EXPECT_THAT(ErrorsOfFile("name: d\nnetwork: {kind: butterfly, rows: 8}\nports:\n"
                           "  - {name: p, device: net_null, rows: 7}\n"
                           "  - {name: q, device: net_null, rows: 7}\n"
                           "hosts:\n  - {name: h0, rows: 0-1}\n  - {name: h1, rows: 1}\n"),
              ElementsAre("a:5: ports[1].rows: row 7 is attached to ports[0] already (allowed: "
                          "every row to one port)",
                          "a:8: hosts[1].rows: row 1 is attached to hosts[0] already (allowed: "
                          "every row to one port)"));
}

TEST(TopologyHosts, AKindHasItsOwnKeysAndNoOthers) {
  EXPECT_THAT(HostError("name: a, rows: 3, kind: pod"),
              HasSubstr("hosts[0].kind: \"pod\" is unknown"));
  EXPECT_THAT(HostError("name: a, rows: 3, kind: container"),
              EndsWith("a:5: hosts[0].pid: is missing, a container has one (allowed: 1 to "
                       "4194304)"));
  EXPECT_THAT(HostError("name: a, rows: 3, pid: 4"),
              EndsWith("hosts[0].pid: has no effect on this kind of host; only a container has "
                       "one"));
  EXPECT_THAT(HostError("name: a, rows: 3, kind: container, pid: 4194305"),
              HasSubstr("hosts[0].pid: 4194305 is out of range"));
  EXPECT_THAT(HostError("name: a, rows: 3, kind: interface"),
              HasSubstr("hosts[0].port_interface: is missing"));
  EXPECT_THAT(
      HostError("name: a, rows: 3, kind: interface, port_interface: x, addresses: 1.2.3.4/8"),
      HasSubstr("hosts[0].addresses: has no effect on this kind of host"));
  EXPECT_THAT(HostError("name: a, rows: 3, kind: machine"),
              HasSubstr("hosts[0].vhost_socket: is missing"));
  EXPECT_THAT(HostError("name: a, rows: 3, kind: machine, vhost_socket: \"/a,b\""),
              HasSubstr("hosts[0].vhost_socket: \"/a,b\" is not the path of a socket"));
  EXPECT_THAT(HostError("name: a, rows: 3, vhost_socket: /a"),
              HasSubstr("hosts[0].vhost_socket: has no effect"));
  EXPECT_THAT(HostError("name: a, rows: 3, interface: eth0/1"),
              HasSubstr("hosts[0].interface: \"eth0/1\" is not the name of an interface"));
  EXPECT_THAT(HostError("name: a, rows: 3, port_interface: sixteen-letters0"),
              HasSubstr("is not the name of an interface (allowed: up to 15 letters"));
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3, kind: container, pid: 4}\n"
                         "  - {name: b, rows: 4, kind: container, pid: 4}\n"),
              ElementsAre("a:6: hosts[1].interface: \"eth0\" of process 4 is taken by "
                          "hosts[0].interface"));
}

TEST(TopologyHosts, AddressesAreOfOneHost) {
  EXPECT_THAT(HostError("name: a, rows: 3, addresses: 10.0.0.1"),
              EndsWith("a:5: hosts[0].addresses[0]: \"10.0.0.1\" has no prefix length (for example "
                       "10.0.0.1/24)"));
  for (const std::string wrong : {"10.0.0/24", "10.0.0.256/24", "::g/64", "10.0.0.1/", "eth0"}) {
    EXPECT_THAT(HostError("name: a, rows: 3, addresses: \"" + wrong + "\""),
                HasSubstr("\"" + wrong + "\" is not an address"));
  }
  // What makes the addresses would take these lengths for octal numbers: 20, 0, 0, 52.
  for (const std::string octal : {"10.0.0.1/024", "10.0.0.1/00", "10.0.0.1/08", "fd00::1/064"}) {
    EXPECT_THAT(HostError("name: a, rows: 3, addresses: \"" + octal + "\""),
                HasSubstr("\"" + octal + "\" is not an address"));
  }
  EXPECT_THAT(HostError("name: a, rows: 3, addresses: 10.0.0.1/33"),
              EndsWith("has a prefix of 33 bits (allowed: 0 to 32)"));
  for (const std::string wrong :
       {"224.0.0.1/4", "0.0.0.0/8", "ff02::1/16", "::/64", "10.0.0.1/0", "10.0.0.0/24",
        "10.0.0.255/24", "10.0.0.4/30", "10.0.0.7/30", "127.0.0.1/8", "127.1.2.3/32", "::1/64"}) {
    EXPECT_THAT(HostError("name: a, rows: 3, addresses: \"" + wrong + "\""),
                HasSubstr("is not the address of one host"));
  }
  // Inside their prefixes, and prefixes that have neither a network nor a broadcast address.
  EXPECT_THAT(
      HostErrors("  - {name: a, rows: 3, addresses: [10.0.1.0/23, 10.0.2.255/23, 10.0.0.5/30, "
                 "10.0.0.6/30, 10.0.0.8/31, 10.0.0.9/31, 10.0.0.0/32, \"::2/64\"]}\n"),
      IsEmpty());
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3, addresses: [10.0.0.1/24]}\n"
                         "  - {name: b, rows: 4, addresses: [10.0.0.2/24, 10.0.0.1/16]}\n"),
              ElementsAre("a:6: hosts[1].addresses[1]: the address is taken by "
                          "hosts[0].addresses[0]"));
  EXPECT_THAT(HostError("name: a, rows: 3, mtu: 1000, addresses: \"fd00::1/64\""),
              HasSubstr("IPv6 needs an MTU of at least 1280, and that of this host is 1000"));
  const std::string by_address = "addressing: {mode: ipv4_prefix, ipv4_prefix: 10.0.0.16/29}\n";
  EXPECT_THAT(
      HostErrors("  - {name: a, rows: 3, addresses: [10.0.0.19/24, 10.1.0.1/24]}\n", by_address),
      IsEmpty());
  EXPECT_THAT(HostError("name: a, rows: 3, addresses: 10.0.0.20/24", by_address),
              HasSubstr("this is the address of row 4 by addressing.ipv4_prefix, and the host "
                        "stands at 3"));
  // The block has 16 addresses, and the network has 8 rows.
  const std::string twice = "addressing: {mode: ipv4_prefix, ipv4_prefix: 10.0.0.16/28}\n";
  for (const std::string beyond : {"10.0.0.24/24", "10.0.0.30/24"}) {
    EXPECT_THAT(HostError("name: a, rows: 3, addresses: " + beyond, twice),
                EndsWith("hosts[0].addresses[0]: is in addressing.ipv4_prefix, but the network has "
                         "rows 0..7 only"));
  }
  EXPECT_THAT(
      HostErrors("  - {name: a, rows: 3, addresses: [10.0.0.15/24, 10.0.0.32/24]}\n", twice),
      IsEmpty());
}

TEST(TopologyHosts, RoutesCanBeUsed) {
  const std::string host = "name: a, rows: 3, addresses: 10.0.0.1/24, routes: ";
  EXPECT_THAT(HostErrors("  - {" + host +
                         "[{to: 10.1.0.0/16, via: 10.0.0.9}, {to: default, via: "
                         "10.0.0.9}, {to: 10.2.0.0/16}]}\n"),
              IsEmpty());
  EXPECT_THAT(HostError(host + "[{via: 10.0.0.9}]"),
              HasSubstr("hosts[0].routes[0].to: is missing"));
  EXPECT_THAT(HostError(host + "[{to: default}]"),
              HasSubstr("hosts[0].routes[0].via: is missing, a default route needs it"));
  EXPECT_THAT(HostError(host + "[{to: 10.1.0.1/16}]"),
              HasSubstr("hosts[0].routes[0].to: \"10.1.0.1/16\" has bits set behind its prefix"));
  EXPECT_THAT(HostError(host + "[{to: 10.1.0.0/16, via: 10.0.1.9}]"),
              HasSubstr("hosts[0].routes[0].via: \"10.0.1.9\" is in the prefix of none of the "
                        "host's addresses"));
  EXPECT_THAT(HostError(host + "[{to: \"fd00::/64\", via: 10.0.0.9}]"),
              HasSubstr("are not of one version of IP"));
  EXPECT_THAT(HostError(host + "[{to: 10.1.0.0/16, via: 10.0.0.9/24}]"),
              HasSubstr("is not the address of a next hop"));
}

// What Linux 6.18 answers to `ip route add`: "File exists", "Nexthop has invalid gateway", "Gateway
// can not be a local address".
TEST(TopologyHosts, RoutesThatLinuxRefusesAreErrors) {
  const std::string host =
      "name: a, rows: 3, addresses: [10.0.0.1/24, 10.4.0.1/30, 10.5.0.8/31, 10.6.0.1/32, "
      "\"fd00::1/64\"], routes: ";
  for (const std::string own : {"10.0.0.0/24", "10.4.0.0/30", "10.5.0.8/31"}) {
    EXPECT_THAT(HostError(host + "[{to: " + own + ", via: 10.0.0.9}]"),
                HasSubstr("a:5: hosts[0].routes[0].to: \"" + own +
                          "\" is the prefix of an address of the host"));
  }
  const std::pair<std::string, std::string> twice[] = {
      {"{to: default, via: 10.0.0.8}", "{to: 0.0.0.0/0, via: 10.0.0.9}"},
      {"{to: \"::/0\", via: \"fd00::8\"}", "{to: default, via: \"fd00::9\"}"},
      {"{to: 10.1.0.0/16}", "{to: 10.1.0.0/16, via: 10.0.0.9}"},
      {"{to: \"fd01:0::/64\"}", "{to: \"fd01::/64\"}"}};
  for (const auto& [one, other] : twice) {
    EXPECT_THAT(HostError(host + "[" + one + ", " + other + "]"),
                AllOf(HasSubstr("a:5: hosts[0].routes[1].to: "),
                      EndsWith(" is the destination of hosts[0].routes[0].to already")));
  }
  for (const std::string broadcast : {"10.0.0.255", "10.4.0.3"}) {
    EXPECT_THAT(HostError(host + "[{to: default, via: " + broadcast + "}]"),
                HasSubstr("a:5: hosts[0].routes[0].via: \"" + broadcast +
                          "\" is the broadcast address of its prefix"));
  }
  EXPECT_THAT(HostError(host + "[{to: default, via: \"fd00::1\"}]"),
              HasSubstr("hosts[0].routes[0].via: \"fd00::1\" is an address of the host itself"));
  // Linux takes these.
  EXPECT_THAT(
      HostErrors(
          "  - {" + host +
          "[{to: default, via: 10.0.0.0}, {to: default, via: \"fd00::\"}, {to: 10.6.0.1/32}, "
          "{to: \"fd00::/64\"}, {to: 10.1.0.0/16}, {to: 10.1.0.0/17, via: 10.5.0.9}]}\n"
          "  - {name: b, rows: 4, addresses: 10.0.0.2/24, routes: [{to: 10.1.0.0/16}]}\n"),
      IsEmpty());
}

TEST(TopologyHosts, FramesFitTheFabric) {
  EXPECT_THAT(
      HostError("name: a, rows: 3, mtu: 1505"),
      HasSubstr("hosts[0].mtu: 1505 makes frames of 1519 bytes, and max_frame_bytes is 1518 "
                "(allowed: at most 1504)"));
  EXPECT_THAT(HostError("name: a, rows: 3, mtu: 67"),
              HasSubstr("hosts[0].mtu: 67 is out of range"));
  EXPECT_THAT(HostErrors("  - {name: a, rows: 3, mtu: 3000}\n", "max_frame_bytes: 3014\n"),
              IsEmpty());
  const auto small =
      ReadTopology(FileOfHosts("  - {name: a, rows: 3}\n", "max_frame_bytes: 514\n"), "a");
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(HostMtu(small->hosts(0), *small), 500u);
}

TEST(TopologyHosts, NeedOneDataPlaneOfThisMachine) {
  const std::string host = "  - {name: a, rows: 3}\n";
  EXPECT_THAT(HostErrors(host, "data_planes: [{name: x, address: \"10.0.0.1:1\"}]\n"),
              ElementsAre("a:6: data_planes[0].address: hosts need a data plane that bfly starts "
                          "itself; leave the address out"));
  const std::string split = "data_planes: [{name: x}, {name: y}]\n";
  EXPECT_THAT(HostErrors(host, split),
              testing::Contains(HasSubstr("a:4: hosts: need one data plane, "
                                          "there are 2")));
}

}  // namespace
}  // namespace bfly::control
