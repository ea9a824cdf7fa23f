// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_node.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/ports/pci_device.h"
#include "dataplane/runtime/device_string.h"

namespace bfly::dataplane {
namespace {

// Opens the file that tells the node of a device of sysfs. The kernel puts a device of its own
// between a virtio card and its interface, and only the card has the file.
std::ifstream NodeFile(const std::filesystem::path& device) {
  std::ifstream file(device / "numa_node");
  if (file) return file;
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(device, error);
  if (!error) file.open(found.parent_path() / "numa_node");
  return file;
}

}  // namespace

int NodeOfDevice(const std::string& device, const std::string& sysfs) {
  std::filesystem::path card;
  if (const std::string pci = PciDevice(device); !pci.empty()) {
    card = std::filesystem::path(sysfs) / "bus/pci/devices" / pci.substr(0, pci.find(','));
  } else if (const auto interface = DeviceArgument(device, "iface")) {
    // The path of a socket, which other drivers also call iface, is not the name of an interface.
    if (interface->empty() || interface->find('/') != std::string::npos) return kNoNode;
    card = std::filesystem::path(sysfs) / "class/net" / *interface / "device";
  } else {
    return kNoNode;
  }
  int node = kNoNode;
  NodeFile(card) >> node;
  return node < 0 ? kNoNode : node;
}

std::string CpusOfNode(int node, const std::string& sysfs) {
  std::ifstream file(absl::StrCat(sysfs, "/devices/system/node/node", node, "/cpulist"));
  std::string cpus;
  std::getline(file, cpus);
  return cpus;
}

std::vector<std::string> NodeWarnings(const std::vector<PolledDevice>& devices,
                                      const NodeMap& map) {
  std::vector<std::string> warnings;
  for (const PolledDevice& polled : devices) {
    const int node = map.of_device(polled.device);
    if (node == kNoNode) continue;
    std::map<int, std::set<int>> elsewhere;  // lcores by their node
    for (const int lcore : polled.lcores) {
      const int of_lcore = map.of_lcore(lcore);
      if (of_lcore != kNoNode && of_lcore != node) elsewhere[of_lcore].insert(lcore);
    }
    if (elsewhere.empty()) continue;
    const std::string workers = absl::StrJoin(
        elsewhere, " and ", [](std::string* out, const std::pair<const int, std::set<int>>& e) {
          absl::StrAppend(out, e.second.size() == 1 ? "lcore " : "lcores ",
                          absl::StrJoin(e.second, ","), " of node ", e.first);
        });
    const std::string cpus = map.cpus(node);
    warnings.push_back(absl::StrCat(polled.what, ": its device is on NUMA node ", node,
                                    " and is polled by ", workers,
                                    ", so frames cross between nodes; use lcores of node ", node,
                                    cpus.empty() ? "" : absl::StrCat(" (CPUs ", cpus, ")")));
  }
  return warnings;
}

int NodeOfMost(const std::vector<int>& lcores, const NodeMap& map) {
  std::map<int, int> count;  // by node
  for (const int lcore : lcores) {
    if (const int node = map.of_lcore(lcore); node != kNoNode) ++count[node];
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(count.begin(), count.end(), fewer);
  return most == count.end() ? kNoNode : most->first;
}

}  // namespace bfly::dataplane
