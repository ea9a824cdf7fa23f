// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/capability.h"

#include <linux/capability.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace bfly::dataplane {
namespace {

struct DriverCapability {
  const char* driver;
  int capability;
  const char* name;
};

// The capability that each driver's system calls need.
constexpr DriverCapability kNeeds[] = {
    {"net_af_xdp", CAP_NET_ADMIN, "CAP_NET_ADMIN"},
    {"net_af_xdp", CAP_NET_RAW, "CAP_NET_RAW"},
    {"net_af_xdp", CAP_BPF, "CAP_BPF"},
    {"net_tap", CAP_NET_ADMIN, "CAP_NET_ADMIN"},
    {"net_af_packet", CAP_NET_ADMIN, "CAP_NET_ADMIN"},
    {"net_af_packet", CAP_NET_RAW, "CAP_NET_RAW"},
};

uint64_t EffectiveCapabilities() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    if (key != "CapEff:") continue;
    uint64_t bits = 0;
    status >> std::hex >> bits;
    return bits;
  }
  return ~uint64_t{0};  // no /proc: the driver will say what it lacks
}

}  // namespace

absl::Status CheckDeviceCapability(const std::string& field, const std::string& device) {
  const uint64_t have = EffectiveCapabilities();
  std::vector<const char*> missing;
  for (const DriverCapability& needed : kNeeds) {
    if (device.rfind(needed.driver, 0) == 0 && !(have >> needed.capability & 1)) {
      missing.push_back(needed.name);
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(field, ": ", device, " needs ", absl::StrJoin(missing, " and "),
                   ", which this process lacks; run it as root or give it the capability (setcap, "
                   "AmbientCapabilities=)"));
}

}  // namespace bfly::dataplane
