// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {
namespace {

// Nodes of a set for the kernel: one word.
constexpr int kMostNodes = 64;

thread_local int node_of_thread = kNoNode;  // the node of the innermost OnNode

bool HasPolicy() {
  int policy = MPOL_DEFAULT;
  return syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) != 0 || policy != MPOL_DEFAULT;
}

bool Prefer(int node) {
  if (node == kNoNode) return syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0) == 0;
  const unsigned long nodes = 1UL << node;
  // The kernel takes one bit less than it is told.
  return syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, kMostNodes + 1) == 0;
}

}  // namespace

int NodeOfCpu(int cpu, const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder / absl::StrCat("cpu", cpu), error)) {
    const std::string name = entry.path().filename();
    absl::string_view number = name;
    int node = 0;
    if (absl::ConsumePrefix(&number, "node") && absl::SimpleAtoi(number, &node)) return node;
  }
  return kNoNode;
}

int NodeOfLcore(int lcore) {
  const std::optional<int> cpu = CpuOfLcore(lcore);
  return cpu ? NodeOfCpu(*cpu) : kNoNode;
}

OnNode::OnNode(int node) : outer_(node_of_thread) {
  if (node < 0 || node >= kMostNodes) return;
  if (outer_ == kNoNode && HasPolicy()) return;
  set_ = Prefer(node);
  if (set_) node_of_thread = node;
}

OnNode::~OnNode() {
  if (!set_) return;
  Prefer(outer_);
  node_of_thread = outer_;
}

}  // namespace bfly::dataplane
