// SPDX-License-Identifier: Apache-2.0
// The nodes of a machine whose memory is not equally near to all of its CPUs (NUMA).
#pragma once

#include <filesystem>

#include "dataplane/runtime/machine_cpus.h"

namespace bfly::dataplane {

// The node is not known, or all nodes are equally good. DPDK's SOCKET_ID_ANY.
inline constexpr int kNoNode = -1;

int NodeOfCpu(int cpu, const std::filesystem::path& folder = kCpuFolder);
// The node of the CPU of an lcore of this process (cpus.h).
int NodeOfLcore(int lcore);

// While an object lives, memory that its thread touches for the first time comes from the node, if
// the node has memory left. The object does nothing for kNoNode, if this process was given a memory
// policy (numactl), or if the process may not choose (a container's system call filter). Memory
// that the process has used before stays where it is. Objects of a thread may nest; the inner one
// counts.
class OnNode {
 public:
  explicit OnNode(int node);
  ~OnNode();
  OnNode(const OnNode&) = delete;
  OnNode& operator=(const OnNode&) = delete;

 private:
  bool set_ = false;
  int outer_ = kNoNode;  // the node of the object around this one
};

}  // namespace bfly::dataplane
