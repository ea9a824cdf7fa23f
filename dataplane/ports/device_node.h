// SPDX-License-Identifier: Apache-2.0
// Whether devices and the workers that poll them are on the same NUMA node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dataplane/runtime/numa.h"

namespace bfly::dataplane {

// The node of the card that a device string names, by its PCI address or by the kernel interface
// that it drives. kNoNode: the device is not a card, or the machine does not tell its node.
int NodeOfDevice(const std::string& device, const std::string& sysfs = "/sys");

// The CPUs of a node, as the kernel writes them: "16-31"; empty if the kernel does not tell them.
std::string CpusOfNode(int node, const std::string& sysfs = "/sys");

// A device and the lcores that poll its queue pairs.
struct PolledDevice {
  std::string what;    // "port p0", "trunk t0"
  std::string device;  // as in the topology
  std::vector<int> lcores;
};

// The functions that look up nodes.
struct NodeMap {
  std::function<int(int)> of_lcore = NodeOfLcore;
  std::function<int(const std::string&)> of_device = [](const std::string& device) {
    return NodeOfDevice(device);
  };
  std::function<std::string(int)> cpus = [](int node) { return CpusOfNode(node); };
};

// A warning for each device that an lcore on another node polls. The warning says what to do.
std::vector<std::string> NodeWarnings(const std::vector<PolledDevice>& devices,
                                      const NodeMap& map = {});

// The node of most of the lcores; if several nodes have the most, the lowest. kNoNode: the node of
// no lcore is known.
int NodeOfMost(const std::vector<int>& lcores, const NodeMap& map = {});

}  // namespace bfly::dataplane
