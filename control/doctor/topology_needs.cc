// SPDX-License-Identifier: Apache-2.0
#include "control/doctor/topology_needs.h"

#include <linux/capability.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/ports/pci_device.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::control {
namespace {

// A device that a data plane opens.
struct NeededDevice {
  std::string name;  // of the port or trunk
  std::string device;
  const v1::Host* host = nullptr;  // the host whose port it is
};

const v1::Host* HostOf(const v1::HostPort& port, const v1::Topology& topology) {
  const auto host =
      std::find_if(topology.hosts().begin(), topology.hosts().end(),
                   [&port](const v1::Host& one) { return one.name() == port.name(); });
  return host == topology.hosts().end() ? nullptr : &*host;
}

bool IsOf(const v1::HostPort& port, const std::string& plane, const v1::Topology& topology) {
  return port.data_plane() == plane ||
         (port.data_plane().empty() && topology.data_planes_size() == 1);
}

std::vector<NeededDevice> DevicesOf(const v1::Topology& topology, const std::string& plane) {
  std::vector<NeededDevice> devices;
  for (const v1::HostPort& port : topology.ports()) {
    if (IsOf(port, plane, topology)) {
      devices.push_back({port.name(), port.device(), HostOf(port, topology)});
    }
  }
  for (const v1::Trunk& trunk : topology.trunks()) {
    if (trunk.from() == plane) devices.push_back({trunk.name(), trunk.from_device()});
    if (trunk.to() == plane) devices.push_back({trunk.name(), trunk.to_device()});
  }
  return devices;
}

Finding CheckLcores(const v1::Topology& topology, const std::string& plane,
                    const Machine& machine) {
  std::set<int> wanted;
  for (const v1::StagePlacement& placed : topology.placement()) {
    if (placed.data_plane() == plane || placed.data_plane().empty()) {
      wanted.insert(static_cast<int>(placed.lcore()));
    }
  }
  for (const v1::HostPort& port : topology.ports()) {
    if (IsOf(port, plane, topology)) wanted.insert(port.lcores().begin(), port.lcores().end());
  }
  if (wanted.empty()) return {Fitness::kOk, "the file leaves them to bfly"};
  const std::vector<int> usable = machine.UsableCpus();
  const std::vector<int> isolated = machine.Cpus("/sys/devices/system/cpu/isolated");
  std::vector<int> lacking;
  std::vector<int> shared;
  for (const int lcore : wanted) {
    if (std::find(usable.begin(), usable.end(), lcore) == usable.end()) lacking.push_back(lcore);
    if (std::find(isolated.begin(), isolated.end(), lcore) == isolated.end()) {
      shared.push_back(lcore);
    }
  }
  const std::string found = absl::StrJoin(wanted, ", ");
  if (!lacking.empty()) {
    return {
        Fitness::kMissing,
        absl::StrCat("lcore ", absl::StrJoin(lacking, ", "),
                     " is not a CPU that this process may use; there are ",
                     absl::StrJoin(usable, ", ")),
        "change lcore under placement and lcores of ports, or leave them out to have rows spread"};
  }
  if (wanted.size() > dataplane::kMostWorkers) {
    return {
        Fitness::kMissing,
        absl::StrCat(wanted.size(), " lcores; a data plane has at most ", dataplane::kMostWorkers),
        "use fewer lcores under placement and lcores of ports, or more data planes"};
  }
  if (!isolated.empty() && !shared.empty()) {
    return {Fitness::kSlower,
            absl::StrCat("lcore ", absl::StrJoin(shared, ", "), " is not isolated"),
            absl::StrCat("use the isolated CPUs: ", absl::StrJoin(isolated, ", "))};
  }
  return {Fitness::kOk, found};
}

// What is left of the machine's memory while its data planes start, one after another. Each takes
// hugepages of one size if they are enough, else ordinary pages (dataplane/runtime/eal.cc).
class MemoryLeft {
 public:
  explicit MemoryLeft(const Machine& machine)
      : machine_(machine),
        hugepages_(machine.HugepageSizes()),
        available_mb_(machine.AvailableMb()) {}

  Finding Take(uint64_t memory_mb) {
    std::string found = absl::StrCat(memory_mb, " MiB");
    HugepagesOfSize& most = Most();
    if (most.free_mb() >= memory_mb) {
      most.free -= (memory_mb * 1024 + most.page_kib - 1) / most.page_kib;
      return {Fitness::kOk, absl::StrCat(found, ", of hugepages")};
    }
    if (ordinary_mb_ > 0)
      absl::StrAppend(&found, " after ", ordinary_mb_, " of data planes before");
    if (available_mb_ < ordinary_mb_ + memory_mb) {
      return {Fitness::kMissing, absl::StrCat(found, ", and ", available_mb_, " MiB are available"),
              "lower memory_mb of the data plane, or end other programs"};
    }
    ordinary_mb_ += memory_mb;
    return {Fitness::kSlower, absl::StrCat(found, ", of ordinary pages"),
            ReserveHugepages(ordinary_mb_ - FreeOfDefaultSize(), machine_)};
  }

 private:
  // The hugepages of the size with the most free memory.
  HugepagesOfSize& Most() {
    if (hugepages_.empty()) hugepages_.emplace_back();
    return *std::max_element(hugepages_.begin(), hugepages_.end(),
                             [](const HugepagesOfSize& a, const HugepagesOfSize& b) {
                               return a.free_mb() < b.free_mb();
                             });
  }

  // MiB in pages of the size that are reserved when more are. It is at most that of Most().
  uint64_t FreeOfDefaultSize() const {
    const uint64_t page_kib = machine_.DefaultHugepages().page_kib;
    for (const HugepagesOfSize& size : hugepages_) {
      if (size.page_kib == page_kib) return size.free_mb();
    }
    return 0;
  }

  const Machine& machine_;
  std::vector<HugepagesOfSize> hugepages_;
  uint64_t available_mb_;     // ordinary memory before any data plane starts
  uint64_t ordinary_mb_ = 0;  // what data planes took of it
};

// Whether `iface=` names an interface that must be there. Other drivers make the interface that it
// names (net_tap, net_virtio_user), or a socket (net_vhost).
bool NeedsInterface(const std::string& device) {
  return absl::StartsWith(device, "net_af_xdp") || absl::StartsWith(device, "net_af_packet") ||
         absl::StartsWith(device, "net_pcap");
}

// Returns what hinders the driver of a kernel interface.
std::optional<Finding> KernelDriverProblem(const std::string& device, const Machine& machine) {
  const auto lacks = [&](int capability) { return !machine.HasCapability(capability); };
  if (absl::StartsWith(device, "net_af_xdp")) {
    if (Finding af_xdp = CheckAfXdp(machine); af_xdp.verdict != Fitness::kOk) {
      return Finding{Fitness::kMissing, af_xdp.found, af_xdp.mend};
    }
  }
  if (absl::StartsWith(device, "net_tap") && !machine.Exists("/dev/net/tun")) {
    return Finding{Fitness::kMissing, "there is no /dev/net/tun", "modprobe tun"};
  }
  const bool xdp = absl::StartsWith(device, "net_af_xdp");
  const bool tap = absl::StartsWith(device, "net_tap");
  const bool packet = absl::StartsWith(device, "net_af_packet");
  if (((xdp || tap || packet) && lacks(CAP_NET_ADMIN)) || ((xdp || packet) && lacks(CAP_NET_RAW)) ||
      (xdp && (lacks(CAP_BPF) || lacks(CAP_SYS_ADMIN)))) {
    return Finding{Fitness::kMissing, "you lack the capabilities that its driver needs",
                   "run bfly with sudo, or by its units (docs/operate.md)"};
  }
  return std::nullopt;
}

// Judges a port that `bfly lab up` makes, or that waits for a virtual machine. The namespace of the
// data plane is made too.
Finding CheckPortOfLab(const v1::Host& host, const std::string& device, const Machine& machine) {
  if (host.kind() == v1::Host::MACHINE) return {Fitness::kOk, device};
  if (const Finding finding = CheckNamespaces(machine); finding.verdict != Fitness::kOk) {
    return {Fitness::kMissing, absl::StrCat("network namespaces: ", finding.found), finding.mend};
  }
  if (host.kind() == v1::Host::CONTAINER &&
      !machine.Exists(absl::StrCat("/proc/", host.pid(), "/ns/net"))) {
    return {Fitness::kMissing,
            absl::StrCat("process ", host.pid(), ", the container of the host, does not run"),
            "start the container, and write its process under pid"};
  }
  return {Fitness::kOk, absl::StrCat(device, ", made by `bfly lab up`")};
}

Finding CheckDevice(const NeededDevice& needed, const std::string& network_namespace,
                    const Machine& machine) {
  const std::string& device = needed.device;
  const std::string pci = dataplane::PciDevice(device);
  if (!pci.empty()) {
    const absl::Status status =
        dataplane::CheckPciDevice(needed.name, device, machine.root() + "/sys/bus/pci/devices");
    if (status.ok()) return {Fitness::kOk, pci};
    return {Fitness::kMissing, std::string(status.message()), "docs/pci-nics.md"};
  }
  if (auto problem = KernelDriverProblem(device, machine)) return *std::move(problem);
  if (needed.host != nullptr && needed.host->kind() != v1::Host::INTERFACE) {
    return CheckPortOfLab(*needed.host, device, machine);
  }
  if (!network_namespace.empty()) {
    if (machine.Exists("/run/netns/" + network_namespace)) {
      return {Fitness::kOk, absl::StrCat(device, ", in network namespace ", network_namespace)};
    }
    return {Fitness::kMissing, absl::StrCat("there is no network namespace ", network_namespace),
            "ip netns add " + network_namespace};
  }
  const auto interface = dataplane::DeviceArgument(device, "iface");
  if (interface.has_value() && NeedsInterface(device) &&
      !machine.Exists("/sys/class/net/" + *interface)) {
    return {Fitness::kMissing, absl::StrCat("there is no interface ", *interface),
            absl::StrCat("ip link add ", *interface, " type veth peer name ", *interface, "-host")};
  }
  const auto capture = dataplane::DeviceArgument(device, "rx_pcap");
  if (capture.has_value() && !machine.Exists(*capture)) {
    return {Fitness::kMissing, absl::StrCat("there is no file ", *capture),
            "put a capture there, or name another under device"};
  }
  return {Fitness::kOk, device};
}

}  // namespace

std::vector<NamedFinding> TopologyNeeds(const v1::Topology& topology, const Machine& machine) {
  std::vector<NamedFinding> findings;
  MemoryLeft memory(machine);
  for (const v1::DataPlane& plane : topology.data_planes()) {
    if (!plane.address().empty()) continue;  // it was started by somebody, perhaps elsewhere
    findings.push_back({plane.name() + " lcores", CheckLcores(topology, plane.name(), machine)});
    findings.push_back({plane.name() + " memory", memory.Take(plane.memory_mb())});
    for (const NeededDevice& device : DevicesOf(topology, plane.name())) {
      findings.push_back({absl::StrCat(plane.name(), " ", device.name),
                          CheckDevice(device, plane.network_namespace(), machine)});
    }
  }
  return findings;
}

}  // namespace bfly::control
