// SPDX-License-Identifier: Apache-2.0
// Each check of `bfly doctor` on machines that are folders of hand-made files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "control/doctor/check.h"
#include "control/doctor/topology_needs.h"
#include "control/topology_file/reader.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A server on which nothing is wrong: 8 CPUs, of which 2-7 are isolated.
const std::map<std::string, std::string> kGoodMachine = {
    {"/proc/cpuinfo",
     "processor\t: 0\nflags\t\t: fpu ssse3 sse4_1 sse4_2 popcnt constant_tsc "
     "nonstop_tsc\nbugs\t\t:\n"},
    {"/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    8388608 kB\n"},
    {"/proc/mounts", "proc /proc proc rw 0 0\nbpf /sys/fs/bpf bpf rw,mode=700 0 0\n"},
    {"/proc/net/protocols",
     "protocol  size sockets  memory press\nXDP       1088      0      -1   "
     "NI\nTCP       2368      9       1   no\n"},
    {"/proc/self/limits",
     "Limit                     Soft Limit           Hard Limit\n"
     "Max locked memory         8388608              8388608         bytes\n"},
    {"/proc/self/ns/net", ""},
    {"/proc/self/status", "Name:\tbfly\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\n"},
    {"/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
    {"/proc/sys/user/max_net_namespaces", "31000\n"},
    {"/dev/net/tun", ""},
    {"/run/nothing", ""},
    {"/sys/class/iommu/dmar0", ""},
    {"/sys/class/net/bf0/operstate", "up\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
    {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"},
    {"/sys/devices/system/cpu/isolated", "2-7\n"},
    {"/sys/devices/system/cpu/online", "0-7\n"},
    {"/sys/devices/system/node/node0/cpulist", "0-3\n"},
    {"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "512\n"},
    {"/sys/devices/system/node/node1/cpulist", "4-7\n"},
    {"/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n"},
    {"/sys/kernel/btf/vmlinux", "x"},
    {"/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n"},
    {"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"},
    {"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1000\n"},
    {"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024\n"},
    {"/sys/bus/pci/drivers/vfio-pci/bind", ""},
    {"/sys/bus/pci/devices/0000:00:04.0/class", "0x020000\n"},
    {"/sys/bus/pci/devices/0000:00:1f.2/class", "0x010601\n"},
};

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    for (const auto& [path, text] : kGoodMachine) Write(path, text);
    Bind("0000:00:04.0", "vfio-pci");
  }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  void Remove(const std::string& path) { fs::remove_all(folder_ / path); }
  void Bind(const std::string& address, const std::string& driver) {
    const std::string link = folder_ / ("/sys/bus/pci/devices/" + address + "/driver");
    fs::create_directories(fs::path(link).parent_path());
    fs::remove(link);
    fs::create_symlink("../../../bus/pci/drivers/" + driver, link);
  }
  Machine machine(const std::string& run_directory = "/run/bfly") const {
    return {folder_.path(), run_directory};
  }
  // The checks that are not ok.
  std::set<std::string> NotOk() const {
    std::set<std::string> wrong;
    for (const Check& check : Checks()) {
      if (check.look(machine()).verdict != Fitness::kOk) wrong.insert(check.name);
    }
    return wrong;
  }
  void ExpectFinding(const Finding& finding, Fitness verdict, const std::string& found,
                     const std::string& mend) {
    EXPECT_EQ(finding.verdict, verdict) << finding.found;
    EXPECT_THAT(finding.found, HasSubstr(found));
    EXPECT_THAT(finding.mend, HasSubstr(mend));
  }
  std::map<std::string, Finding> Needs(const std::string& yaml) {
    std::map<std::string, Finding> needs;
    const auto topology = ReadTopology(yaml, "test.yaml");
    EXPECT_TRUE(topology.ok()) << topology.status();
    if (!topology.ok()) return needs;
    for (auto& need : TopologyNeeds(*topology, machine())) needs[need.name] = need.finding;
    return needs;
  }
  Finding MemoryNeed(int memory_mb) {
    const std::string begin = "name: large\nnetwork: {kind: butterfly, rows: 8}\n";
    return Needs(absl::StrCat(begin, "data_planes: [{name: a, memory_mb: ", memory_mb, "}]\n"))
        .at("a memory");
  }

  TemporaryFolder folder_;
};

TEST_F(DoctorTest, AGoodMachineLacksNothing) {
  EXPECT_EQ(NotOk(), std::set<std::string>());
  EXPECT_EQ(CheckHugepages(machine()).found, "2000 MiB free of 2048");
  EXPECT_EQ(CheckIsolatedCpus(machine()).found, "6 CPUs of 8 for workers alone: 2-7");
  EXPECT_EQ(CheckNuma(machine()).found, "node0: CPUs 0-3; node1: CPUs 4-7");
  EXPECT_EQ(CheckPciCards(machine()).found, "for DPDK: 0000:00:04.0 (vfio-pci)");
  EXPECT_THAT(CheckVersions(machine()).found, AllOf(HasSubstr("DPDK"), HasSubstr("6.1.0-18")));
  EXPECT_EQ(machine().UsableCpus().size(), 8u) << "nobody chose the affinity of this process";
}

TEST_F(DoctorTest, EachCheckSeesWhatIsWrongAndNoOtherDoes) {
  struct Wrong {
    const char* check;
    const char* path;
    const char* text;  // null: the file is removed
    Finding (*look)(const Machine&);
    Fitness verdict;
    const char* found;
    const char* mend;
  };
  const Wrong all[] = {
      {"instructions", "/proc/cpuinfo", "flags : ssse3 popcnt constant_tsc nonstop_tsc\n",
       CheckInstructions, Fitness::kMissing, "lacks sse4_1, sse4_2", "-cpu host"},
      {"clock", "/proc/cpuinfo", "flags : ssse3 sse4_1 sse4_2 popcnt constant_tsc\n", CheckClock,
       Fitness::kSlower, "TSC", "+invtsc"},
      {"clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n",
       CheckClock, Fitness::kSlower, "clock source hpet", "tsc=reliable"},
      {"hugepages", "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n",
       CheckHugepages, Fitness::kSlower, "200 MiB free of 2048; a data plane takes 512",
       "vm.nr_hugepages=1180"},
      {"NUMA nodes", "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
       "0\n", CheckNuma, Fitness::kSlower, "no hugepages on node1", "/node1/hugepages"},
      {"isolated CPUs", "/sys/devices/system/cpu/isolated", "\n", CheckIsolatedCpus,
       Fitness::kSlower, "none of 8 CPUs", "isolcpus=1-7 nohz_full=1-7"},
      {"CPU governor", "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n",
       CheckGovernor, Fitness::kSlower, "performance, powersave", "cpupower frequency-set"},
      {"AF_XDP", "/proc/net/protocols", "protocol size\nTCP 2368\n", CheckAfXdp, Fitness::kSlower,
       "the kernel lacks it", "CONFIG_XDP_SOCKETS"},
      {"BTF", "/sys/kernel/btf/vmlinux", nullptr, CheckBtf, Fitness::kSlower, "types",
       "CONFIG_DEBUG_INFO_BTF"},
      {"bpffs", "/proc/mounts", "proc /proc proc rw 0 0\n", CheckBpffs, Fitness::kSlower,
       "not mounted", "mount -t bpf bpf /sys/fs/bpf"},
      {"network namespaces", "/proc/sys/user/max_net_namespaces", "0\n", CheckNamespaces,
       Fitness::kSlower, "none may be made", "user.max_net_namespaces"},
      {"network namespaces", "/proc/self/ns/net", nullptr, CheckNamespaces, Fitness::kSlower,
       "the kernel has none", "CONFIG_NET_NS"},
      {"PCI drivers", "/sys/bus/pci/drivers/vfio-pci", nullptr, CheckPciDrivers, Fitness::kSlower,
       "none that hands cards to DPDK", "modprobe vfio-pci"},
      {"PCI drivers", "/sys/class/iommu", nullptr, CheckPciDrivers, Fitness::kSlower,
       "no IOMMU is on", "intel_iommu=on"},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.check);
    if (wrong.text == nullptr) {
      Remove(wrong.path);
    } else {
      Write(wrong.path, wrong.text);
    }
    ExpectFinding(wrong.look(machine()), wrong.verdict, wrong.found, wrong.mend);
    EXPECT_EQ(NotOk(), std::set<std::string>{wrong.check});
    Remove("");
    for (const auto& [path, text] : kGoodMachine) Write(path, text);
    Bind("0000:00:04.0", "vfio-pci");
  }
}

TEST_F(DoctorTest, MemoryIsEnoughIfEitherKindIs) {
  Write("/proc/meminfo", "MemAvailable:     409600 kB\n");
  EXPECT_EQ(CheckMemory(machine()).verdict, Fitness::kOk) << "there are hugepages";
  Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
  ExpectFinding(CheckMemory(machine()), Fitness::kMissing,
                "400 MiB available; a data plane takes 512", "memory_mb");
}

TEST_F(DoctorTest, HugepagesAreReservedByTheDefaultSizeOfTheirPages) {
  Write("/proc/meminfo", "MemAvailable: 8388608 kB\nHugepagesize:    1048576 kB\n");
  Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n");
  // 512 MiB lack in pages of 1 GiB, which is one page. Those of 2 MiB stay and are not counted.
  ExpectFinding(CheckHugepages(machine()), Fitness::kSlower, "200 MiB free of 2048",
                "vm.nr_hugepages=1, and");
  // arm64 with base pages of 64 KiB: pages of 512 MiB. Two are in use, one more is enough.
  Remove("/sys/kernel/mm/hugepages");
  Write("/proc/meminfo", "MemAvailable: 8388608 kB\nHugepagesize:     524288 kB\n");
  Write("/sys/kernel/mm/hugepages/hugepages-524288kB/free_hugepages", "0\n");
  Write("/sys/kernel/mm/hugepages/hugepages-524288kB/nr_hugepages", "2\n");
  ExpectFinding(CheckHugepages(machine()), Fitness::kSlower, "0 MiB free of 1024",
                "vm.nr_hugepages=3, and");
  EXPECT_EQ(MemoryNeed(600).mend, "sysctl -w vm.nr_hugepages=4");
}

TEST_F(DoctorTest, DataPlanesTakeHugepagesUntilTheyAreTooFew) {
  constexpr char kThree[] = R"(
name: three
network: {kind: butterfly, rows: 8}
data_planes: [{name: a}, {name: b}, {name: c}]
placement:
  - {stages: 0, lcore: 2, data_plane: a}
  - {stages: 1, lcore: 3, data_plane: b}
  - {stages: 2, lcore: 4, data_plane: c}
trunks:
  - {name: t, after_stage: 0, from: a, from_device: "net_memif0,role=server,id=0", to: b, to_device: "net_memif0,role=client,id=0"}
  - {name: u, after_stage: 1, from: b, from_device: "net_memif1,role=server,id=1", to: c, to_device: "net_memif1,role=client,id=1"}
)";
  // 600 MiB of hugepages are free and 900 MiB are available: of three times 512 one is missing.
  Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "300\n");
  Write("/proc/meminfo", "MemAvailable:    921600 kB\n");
  const auto needs = Needs(kThree);
  EXPECT_EQ(needs.at("a memory").found, "512 MiB, of hugepages");
  // 88 MiB of the 512 are left, so 424 more are 212 pages beside the 1024 that are reserved.
  ExpectFinding(needs.at("b memory"), Fitness::kSlower, "512 MiB, of ordinary pages",
                "vm.nr_hugepages=1236");
  ExpectFinding(needs.at("c memory"), Fitness::kMissing,
                "512 MiB after 512 of data planes before, and 900 MiB", "memory_mb");
}

TEST_F(DoctorTest, ADataPlaneTakesHugepagesOfOneSize) {
  // 1024 MiB in a page of 1 GiB and 200 MiB in small ones are not 1200 MiB for a data plane.
  Write("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
  Write("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n");
  Write("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n");
  EXPECT_EQ(CheckHugepages(machine()).found, "1024 MiB free of 1024");
  ExpectFinding(MemoryNeed(1200), Fitness::kSlower, "1200 MiB, of ordinary pages",
                "vm.nr_hugepages=1524");  // 500 more of 2 MiB are the 1000 MiB that lack
}

TEST_F(DoctorTest, LcoresOfPortsAreJudgedToo) {
  const auto with = [this](const std::string& lcores, const std::string& placement) {
    return Needs("name: polls\nnetwork: {kind: butterfly, rows: 128}\n" + placement +
                 "ports: [{name: h0, device: net_tap0, rows: 0, queue_pairs: 2, lcores: " + lcores +
                 "}]\n")
        .at("dp0 lcores");
  };
  ExpectFinding(with("[2, 9]", ""), Fitness::kMissing, "lcore 9 is not a CPU", "lcores of ports");
  EXPECT_EQ(with("[2, 4]", "placement: [{stages: 0-6, lcore: 3}]\n").found, "2, 3, 4");
  ExpectFinding(with("[1]", ""), Fitness::kSlower, "lcore 1 is not isolated", "2, 3, 4");
  // Two lcores that poll are one more than DPDK has beside 126 that run stages.
  Write("/sys/devices/system/cpu/online", "0-199\n");
  Write("/sys/devices/system/cpu/isolated", "2-199\n");
  std::string many = "placement:\n";
  for (int row = 0; row < 126; ++row) {
    absl::StrAppend(&many, "  - {stages: 0-6, rows: ", row, row == 125 ? "-127" : "",
                    ", lcore: ", 10 + row, "}\n");
  }
  EXPECT_EQ(with("[10, 150]", many).verdict, Fitness::kOk) << with("[10, 150]", many).found;
  ExpectFinding(with("[150, 151]", many), Fitness::kMissing,
                "128 lcores; a data plane has at most 127", "more data planes");
}

TEST_F(DoctorTest, AUserWithoutCapabilitiesIsToldWhichAndWhatFor) {
  // Bit 13 alone: CAP_NET_RAW.
  Write("/proc/self/status", "CapEff:\t0000000000002000\nCpus_allowed_list:\t0-1\n");
  const Finding capabilities = CheckCapabilities(machine());
  ExpectFinding(capabilities, Fitness::kSlower,
                "CAP_NET_ADMIN (net_af_xdp, net_tap, net_af_packet)", "sudo");
  EXPECT_THAT(capabilities.found, testing::Not(HasSubstr("CAP_NET_RAW (")));
  const auto needs = Needs(
      "name: n\nnetwork: {kind: butterfly, rows: 8}\n"
      "ports: [{name: h0, device: \"net_af_packet0,iface=bf0\", rows: \"0\"}]\n");
  ExpectFinding(needs.at("dp0 h0"), Fitness::kMissing, "you lack the capabilities", "sudo");
  ExpectFinding(CheckMemoryLock(machine()), Fitness::kSlower, "8192 KiB", "ulimit -l unlimited");
  Write("/proc/self/limits", "Max locked memory         unlimited            unlimited  bytes\n");
  EXPECT_EQ(CheckMemoryLock(machine()).verdict, Fitness::kOk);
}

TEST_F(DoctorTest, TheRunDirectoryMustBeOneInWhichFilesCanBeMade) {
  EXPECT_EQ(CheckRunDirectory(machine("/run/bfly")).verdict, Fitness::kOk) << "/run is there";
  // A file stands where a directory would have to be.
  ExpectFinding(CheckRunDirectory(machine("/run/nothing/bfly")), Fitness::kMissing,
                "/run/nothing/bfly", "--run-dir");
  // The daemons refuse a directory in which everybody may put links.
  fs::create_directories(fs::path(folder_ / "/run/open"));
  fs::permissions(fs::path(folder_ / "/run/open"), fs::perms::all);
  ExpectFinding(CheckRunDirectory(machine("/run/open")), Fitness::kMissing,
                "everybody may write to", "--run-dir");
}

TEST_F(DoctorTest, TheStateDirectoryMustBeOneInWhichFilesCanBeMade) {
  unsetenv("BFLY_STATE_DIR");
  EXPECT_EQ(CheckStateDirectory(machine("/run/bfly")).found, "/var/lib/bfly");
  EXPECT_EQ(CheckStateDirectory(machine("/run/lab")).found, "/run/lab");
  Write("/var/lib/bfly", "a file where the directory would have to be");
  ExpectFinding(CheckStateDirectory(machine("/run/bfly")), Fitness::kMissing, "/var/lib/bfly",
                "BFLY_STATE_DIR");
  Write("/run/lab/intent.db", "");
  fs::permissions(folder_ / "/run/lab", fs::perms::all);
  EXPECT_THAT(CheckStateDirectory(machine("/run/lab")).found, HasSubstr("everybody may write"));
}

TEST_F(DoctorTest, CardsThatTheKernelHoldsAreNamedWithTheirInterfaces) {
  Bind("0000:00:04.0", "e1000e");
  Write("/sys/bus/pci/devices/0000:00:04.0/net/eth7/operstate", "up\n");
  const Finding cards = CheckPciCards(machine());
  ExpectFinding(cards, Fitness::kSlower, "could be bound: 0000:00:04.0 (e1000e, eth7 is UP)",
                "dpdk-devbind.py --bind=vfio-pci 0000:00:04.0");
  EXPECT_THAT(cards.mend, HasSubstr("never the card that you are logged in through"));
  Write("/sys/bus/pci/devices/0000:00:05.0/class", "0x020000\n");
  Write("/sys/bus/pci/devices/0000:00:05.0/virtio2/net/eth8/operstate", "down\n");
  Bind("0000:00:05.0", "virtio-pci");
  EXPECT_THAT(CheckPciCards(machine()).found, HasSubstr("0000:00:05.0 (virtio-pci, eth8 is down)"));
}

TEST_F(DoctorTest, ATopologyThatFitsLacksNothing) {
  const auto needs = Needs(R"(name: fits
network: {kind: butterfly, rows: 8}
placement: [{stages: 0-2, lcore: 3}]
ports:
  - {name: h0, device: "net_af_xdp,iface=bf0", rows: "0"}
  - {name: h1, device: "0000:00:04.0", rows: "1"}
  - {name: h2, device: "net_tap0,iface=tap7", rows: "2"}
  - {name: h3, device: "net_vhost0,iface=/tmp/vm.sock", rows: "3"}
  - {name: h4, device: "net_virtio_user0,path=/dev/vhost-net,iface=tap8", rows: "4"}
)");
  ASSERT_EQ(needs.size(), 7u);
  for (const auto& [name, finding] : needs)
    EXPECT_EQ(finding.verdict, Fitness::kOk) << name << ": " << finding.found;
  EXPECT_EQ(needs.at("dp0 memory").found, "512 MiB, of hugepages");
}

TEST_F(DoctorTest, PortsThatALabMakesNeedNotBeThere) {
  const std::string hosts = R"(
name: lab
network: {kind: butterfly, rows: 8}
data_planes: [{name: dp0, network_namespace: not-yet}]
hosts:
  - {name: h5, rows: 5}
  - {name: box, rows: 1, kind: container, pid: 4711}
  - {name: vm, rows: 4, kind: machine, vhost_socket: /run/bfly/vm.sock}
)";
  auto needs = Needs(hosts);
  ExpectFinding(needs.at("dp0 h5"), Fitness::kOk, "iface=bf5", "");
  EXPECT_THAT(needs.at("dp0 h5").found, HasSubstr("made by `bfly lab up`"));
  ExpectFinding(needs.at("dp0 box"), Fitness::kMissing, "process 4711", "pid");
  EXPECT_EQ(needs.at("dp0 vm").verdict, Fitness::kOk) << needs.at("dp0 vm").found;
  Write("/proc/4711/ns/net", "");
  EXPECT_EQ(Needs(hosts).at("dp0 box").verdict, Fitness::kOk);
  Write("/proc/sys/user/max_net_namespaces", "0\n");
  ExpectFinding(Needs(hosts).at("dp0 h5"), Fitness::kMissing, "none may be made",
                "user.max_net_namespaces");
  needs = Needs(R"(
name: cables
network: {kind: butterfly, rows: 8}
hosts:
  - {name: there, rows: 2, kind: interface, port_interface: bf0}
  - {name: pulled, rows: 3, kind: interface, port_interface: nix0}
)");
  EXPECT_EQ(needs.at("dp0 there").verdict, Fitness::kOk);
  ExpectFinding(needs.at("dp0 pulled"), Fitness::kMissing, "no interface nix0", "nix0");
}

TEST_F(DoctorTest, ATopologyIsJudgedByItsLcoresMemoryAndDevices) {
  Bind("0000:00:04.0", "e1000e");
  Remove("/dev/net/tun");
  const auto needs = Needs(R"(
name: wants
network: {kind: butterfly, rows: 8}
data_planes:
  - {name: a, memory_mb: 1900}
  - {name: b, memory_mb: 8200, network_namespace: lab1}
placement:
  - {stages: 0, lcore: 1, data_plane: a}
  - {stages: 1-2, lcore: 9, data_plane: b}
trunks:
  - {name: t, after_stage: 0, from: a, from_device: "net_memif0,role=server,id=0", to: b, to_device: "net_memif0,role=client,id=0"}
ports:
  - {name: h0, device: "net_af_packet0,iface=nix0", rows: "0", data_plane: a}
  - {name: h1, device: "0000:00:04.0", rows: "1", data_plane: a}
  - {name: h2, device: "net_tap0,iface=tap7", rows: "2", data_plane: a}
  - {name: h3, device: "net_pcap0,rx_pcap=/none.pcap", rows: "3", data_plane: a}
)");
  ASSERT_EQ(needs.size(), 10u);
  ExpectFinding(needs.at("a lcores"), Fitness::kSlower, "lcore 1 is not isolated", "2, 3, 4");
  ExpectFinding(needs.at("b lcores"), Fitness::kMissing, "lcore 9 is not a CPU", "lcore");
  EXPECT_EQ(needs.at("a memory").verdict, Fitness::kOk);
  // 2000 MiB of hugepages are free and 8192 MiB are available.
  ExpectFinding(needs.at("b memory"), Fitness::kMissing, "8200 MiB, and 8192 MiB", "memory_mb");
  ExpectFinding(needs.at("a h0"), Fitness::kMissing, "no interface nix0", "ip link add nix0");
  ExpectFinding(needs.at("a h1"), Fitness::kMissing, "e1000e", "pci-nics");
  ExpectFinding(needs.at("a h2"), Fitness::kMissing, "/dev/net/tun", "modprobe tun");
  ExpectFinding(needs.at("a h3"), Fitness::kMissing, "/none.pcap", "capture");
  EXPECT_EQ(needs.at("a t").verdict, Fitness::kOk);
  ExpectFinding(needs.at("b t"), Fitness::kMissing, "no network namespace lab1", "netns add lab1");
}

}  // namespace
}  // namespace bfly::control
