// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/doctor/check.h"

namespace bfly::control {

Finding CheckAfXdp(const Machine& machine) {
  for (const absl::string_view line :
       absl::StrSplit(machine.Text("/proc/net/protocols").value_or(""), '\n')) {
    if (absl::StartsWith(line, "XDP ")) return {Fitness::kOk, "the kernel has it"};
  }
  return {Fitness::kSlower,
          "the kernel lacks it: ports on kernel interfaces need net_tap or net_af_packet instead",
          "boot a kernel with CONFIG_XDP_SOCKETS=y, such as Debian's"};
}

Finding CheckBtf(const Machine& machine) {
  if (machine.Exists("/sys/kernel/btf/vmlinux")) return {Fitness::kOk, "/sys/kernel/btf/vmlinux"};
  return {Fitness::kSlower,
          "the kernel does not describe its types: bpftool shows programs and "
          "maps without names",
          "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's"};
}

Finding CheckBpffs(const Machine& machine) {
  for (const absl::string_view line :
       absl::StrSplit(machine.Text("/proc/mounts").value_or(""), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words.size() > 2 && words[2] == "bpf") return {Fitness::kOk, words[1]};
  }
  return {Fitness::kSlower, "it is not mounted: XDP programs cannot be pinned or looked at there",
          "mount -t bpf bpf /sys/fs/bpf"};
}

Finding CheckNamespaces(const Machine& machine) {
  constexpr char kMost[] = "/proc/sys/user/max_net_namespaces";
  if (!machine.Exists("/proc/self/ns/net")) {
    return {Fitness::kSlower, "the kernel has none: hosts cannot be kept apart on this machine",
            "boot a kernel with CONFIG_NET_NS=y"};
  }
  if (machine.Number(kMost) == 0) {
    return {Fitness::kSlower, "none may be made", "sysctl -w user.max_net_namespaces=1024"};
  }
  return {Fitness::kOk, "can be made"};
}

}  // namespace bfly::control
