// SPDX-License-Identifier: Apache-2.0
#include "control/doctor/check.h"

namespace bfly::control {

const std::vector<Check>& Checks() {
  static const auto* const kChecks = new std::vector<Check>{
      {"instructions", CheckInstructions},
      {"memory", CheckMemory},
      {"hugepages", CheckHugepages},
      {"memory lock", CheckMemoryLock},
      {"NUMA nodes", CheckNuma},
      {"isolated CPUs", CheckIsolatedCpus},
      {"CPU governor", CheckGovernor},
      {"clock", CheckClock},
      {"AF_XDP", CheckAfXdp},
      {"BTF", CheckBtf},
      {"bpffs", CheckBpffs},
      {"network namespaces", CheckNamespaces},
      {"PCI drivers", CheckPciDrivers},
      {"PCI cards", CheckPciCards},
      {"capabilities", CheckCapabilities},
      {"run directory", CheckRunDirectory},
      {"state directory", CheckStateDirectory},
      {"versions", CheckVersions},
  };
  return *kChecks;
}

}  // namespace bfly::control
