// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <rte_version.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/doctor/check.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

struct NeededCapability {
  int number;
  const char* name;
  const char* use;
};
constexpr NeededCapability kWanted[] = {
    {CAP_NET_ADMIN, "CAP_NET_ADMIN", "net_af_xdp, net_tap, net_af_packet"},
    {CAP_NET_RAW, "CAP_NET_RAW", "net_af_xdp, net_af_packet"},
    {CAP_BPF, "CAP_BPF", "net_af_xdp"},
    {CAP_IPC_LOCK, "CAP_IPC_LOCK", "hugepages, PCI cards"},
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "net_af_xdp, network_namespace of a data plane"},
    {CAP_SYS_NICE, "CAP_SYS_NICE", "memory on the node of the worker"},
};

}  // namespace

Finding CheckCapabilities(const Machine& machine) {
  std::vector<std::string> lacking;
  for (const NeededCapability& wanted : kWanted) {
    if (!machine.HasCapability(wanted.number)) {
      lacking.push_back(absl::StrCat(wanted.name, " (", wanted.use, ")"));
    }
  }
  if (lacking.empty()) return {Fitness::kOk, "all that devices can need"};
  return {Fitness::kSlower, absl::StrCat("you lack ", absl::StrJoin(lacking, ", ")),
          "run bfly with sudo, or by its units (docs/operate.md)"};
}

Finding CheckRunDirectory(const Machine& machine) {
  const std::string& directory = machine.run_directory();
  if (!machine.IsWritable(directory)) {
    return {Fitness::kMissing, absl::StrCat("you may not write to ", directory),
            "run bfly with sudo, or name a directory of yours with --run-dir or BFLY_RUN_DIR"};
  }
  if (absl::Status safe = CheckRunDirectory(machine.root() + directory); !safe.ok()) {
    return {Fitness::kMissing, std::string(safe.message()),
            "name a directory of yours with --run-dir or BFLY_RUN_DIR"};
  }
  return {Fitness::kOk, directory};
}

Finding CheckStateDirectory(const Machine& machine) {
  const std::string directory = StateDirectory("", machine.run_directory());
  if (machine.IsWritable(directory)) {
    if (absl::Status safe = CheckStateDirectory(machine.root() + directory); !safe.ok()) {
      return {Fitness::kMissing, std::string(safe.message()),
              "name a directory of yours with BFLY_STATE_DIR or --state-dir"};
    }
    return {Fitness::kOk, directory};
  }
  return {Fitness::kMissing, absl::StrCat("you may not write to ", directory),
          "run bfly with sudo, or name a directory of yours with BFLY_STATE_DIR or --state-dir"};
}

Finding CheckVersions(const Machine& machine) {
  return {Fitness::kOk,
          absl::StrCat("bfly " BFLY_VERSION ", ", rte_version(), ", Linux ",
                       machine.Text("/proc/sys/kernel/osrelease").value_or("unknown"))};
}

}  // namespace bfly::control
