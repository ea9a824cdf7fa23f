// SPDX-License-Identifier: Apache-2.0
// What `bfly doctor` looks at: each check is a function of what the machine's files say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/doctor/machine.h"

namespace bfly::control {

enum class Fitness {
  kOk,
  kSlower,   // bfly runs without it, slower or without some kind of device
  kMissing,  // bfly cannot run
};

struct Finding {
  Fitness verdict = Fitness::kOk;
  std::string found;
  std::string mend = {};  // a command or a kernel argument; empty if nothing is wrong
};

struct Check {
  const char* name;
  Finding (*look)(const Machine&);
};

// The command that reserves `more_mb` MiB of hugepages beside those of now. Linux counts pages of
// its default size.
std::string ReserveHugepages(uint64_t more_mb, const Machine& machine);

Finding CheckHugepages(const Machine& machine);
Finding CheckMemory(const Machine& machine);
Finding CheckMemoryLock(const Machine& machine);
Finding CheckNuma(const Machine& machine);
Finding CheckInstructions(const Machine& machine);
Finding CheckIsolatedCpus(const Machine& machine);
Finding CheckGovernor(const Machine& machine);
Finding CheckClock(const Machine& machine);
Finding CheckAfXdp(const Machine& machine);
Finding CheckBtf(const Machine& machine);
Finding CheckBpffs(const Machine& machine);
Finding CheckNamespaces(const Machine& machine);
Finding CheckPciDrivers(const Machine& machine);
Finding CheckPciCards(const Machine& machine);
Finding CheckCapabilities(const Machine& machine);
Finding CheckRunDirectory(const Machine& machine);
Finding CheckStateDirectory(const Machine& machine);
Finding CheckVersions(const Machine& machine);

// All of them, in the order in which they are told.
const std::vector<Check>& Checks();

}  // namespace bfly::control
