// SPDX-License-Identifier: Apache-2.0
// NUMA: the nodes of CPUs and cards, warnings where they differ, and whose memory a thread takes.
#include "dataplane/runtime/numa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "dataplane/ports/device_node.h"
#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Numa, ReadsTheNodeOfACpu) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "cpu7/topology");
  EXPECT_EQ(NodeOfCpu(7, folder.path()), kNoNode);
  std::filesystem::create_directories(folder / "cpu7/node");
  std::filesystem::create_directories(folder / "cpu7/node3");
  std::filesystem::create_directories(folder / "cpu70/node1");
  EXPECT_EQ(NodeOfCpu(7, folder.path()), 3);
  EXPECT_EQ(NodeOfCpu(70, folder.path()), 1);
  EXPECT_EQ(NodeOfCpu(8, folder.path()), kNoNode);
}

TEST(Numa, ReadsTheNodeOfACardByAddressAndByInterface) {
  const TemporaryFolder sys;
  const auto write = [&sys](const std::string& path, const char* text) {
    std::filesystem::create_directories(std::filesystem::path(sys / path).parent_path());
    std::ofstream(sys / path) << text << "\n";
  };
  write("bus/pci/devices/0000:81:00.0/numa_node", "1");
  write("bus/pci/devices/0000:00:04.0/numa_node", "-1");
  write("class/net/eth0/device/numa_node", "2");
  write("class/net/veth0/mtu", "1500");
  write("devices/system/node/node1/cpulist", "16-31");
  EXPECT_EQ(NodeOfDevice("0000:81:00.0", sys.path()), 1);
  EXPECT_EQ(NodeOfDevice("81:00.0,a=1", sys.path()), 1);
  EXPECT_EQ(NodeOfDevice("0000:00:04.0", sys.path()), kNoNode) << "the machine does not say";
  EXPECT_EQ(NodeOfDevice("0000:00:05.0", sys.path()), kNoNode);
  EXPECT_EQ(NodeOfDevice("net_af_xdp,iface=eth0,start_queue=0", sys.path()), 2);
  EXPECT_EQ(NodeOfDevice("net_af_xdp,iface=veth0", sys.path()), kNoNode);
  EXPECT_EQ(NodeOfDevice("net_vhost0,iface=/tmp/../eth0", sys.path()), kNoNode);
  EXPECT_EQ(NodeOfDevice("net_null0", sys.path()), kNoNode);
  // A virtio card: the kernel puts a device of its own between card and interface.
  write("devices/pci/0000:00:03.0/numa_node", "1");
  std::filesystem::create_directories(sys / "devices/pci/0000:00:03.0/virtio2");
  std::filesystem::create_directories(sys / "class/net/eth9");
  std::filesystem::create_directory_symlink(sys / "devices/pci/0000:00:03.0/virtio2",
                                            sys / "class/net/eth9/device");
  EXPECT_EQ(NodeOfDevice("net_af_xdp,iface=eth9", sys.path()), 1);
  EXPECT_EQ(CpusOfNode(1, sys.path()), "16-31");
  EXPECT_EQ(CpusOfNode(0, sys.path()), "");
}

// Lcores 0-7 are on node 0, 8-15 on node 1, 16-23 on node 2; the node of a card is its last digit.
NodeMap ThreeNodes() {
  return {.of_lcore = [](int lcore) { return lcore < 24 ? lcore / 8 : kNoNode; },
          .of_device =
              [](const std::string& device) {
                return device.starts_with("net_") ? kNoNode : device.back() - '0';
              },
          .cpus = [](int node) { return node == 1 ? "8-15" : ""; }};
}

TEST(Numa, WarnsOfDevicesThatAreFarFromTheirPollers) {
  const std::vector<PolledDevice> devices = {
      {.what = "port near", .device = "card1", .lcores = {8, 9}},
      {.what = "port far", .device = "card1", .lcores = {2, 8, 3, 2}},
      {.what = "trunk t0", .device = "card0", .lcores = {16, 1, 9}},
      {.what = "port software", .device = "net_null0", .lcores = {0, 8}},
      {.what = "port unknown", .device = "card1", .lcores = {99}}};
  EXPECT_THAT(NodeWarnings(devices, ThreeNodes()),
              ElementsAre("port far: its device is on NUMA node 1 and is polled by lcores 2,3 of "
                          "node 0, so frames cross between nodes; use lcores of node 1 (CPUs 8-15)",
                          "trunk t0: its device is on NUMA node 0 and is polled by lcore 9 of node "
                          "1 and lcore 16 of node 2, so frames cross between nodes; use lcores of "
                          "node 0"));
  EXPECT_THAT(NodeWarnings({}, ThreeNodes()), IsEmpty());
}

TEST(Numa, TellsTheNodeOfMostLcores) {
  const NodeMap map = ThreeNodes();
  EXPECT_EQ(NodeOfMost({}, map), kNoNode);
  EXPECT_EQ(NodeOfMost({99, 98}, map), kNoNode);
  EXPECT_EQ(NodeOfMost({0, 9, 10, 99, 99}, map), 1);
  EXPECT_EQ(NodeOfMost({8, 0}, map), 0);
}

struct Policy {
  int mode = -1;
  unsigned long nodes = 0;
  friend bool operator==(const Policy&, const Policy&) = default;
};

Policy Now() {
  Policy policy;
  if (syscall(SYS_get_mempolicy, &policy.mode, &policy.nodes, 64, nullptr, 0) != 0)
    policy.mode = -1;
  return policy;
}

TEST(Numa, TakesMemoryOfANodeForAWhileUnlessAPolicyWasGiven) {
  // In a thread of its own, whose policy nobody has set.
  std::thread([] {
    const Policy before = Now();
    const unsigned long node_0 = 1;
    if (before.mode != MPOL_DEFAULT ||
        syscall(SYS_set_mempolicy, MPOL_PREFERRED, &node_0, 65) != 0) {
      GTEST_SKIP() << "this process may not choose its memory";
    }
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
    {
      const OnNode on(0);
      EXPECT_EQ(Now(), (Policy{.mode = MPOL_PREFERRED, .nodes = 1}));
      {
        const OnNode none(kNoNode);
        EXPECT_EQ(Now(), (Policy{.mode = MPOL_PREFERRED, .nodes = 1}));
        const OnNode inner(0);
        EXPECT_EQ(Now(), (Policy{.mode = MPOL_PREFERRED, .nodes = 1}));
      }
      EXPECT_EQ(Now(), (Policy{.mode = MPOL_PREFERRED, .nodes = 1}))
          << "the outer one still counts";
    }
    EXPECT_EQ(Now(), before);
    {
      const OnNode beyond(64);
      EXPECT_EQ(Now(), before);
    }
    // numactl --interleave=0
    ASSERT_EQ(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &node_0, 65), 0);
    {
      const OnNode on(0);
      EXPECT_EQ(Now(), (Policy{.mode = MPOL_INTERLEAVE, .nodes = 1}));
    }
    EXPECT_EQ(Now(), (Policy{.mode = MPOL_INTERLEAVE, .nodes = 1}));
  }).join();
}

}  // namespace
}  // namespace bfly::dataplane
