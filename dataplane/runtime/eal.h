// SPDX-License-Identifier: Apache-2.0
// DPDK's environment. A process starts it once, before the first Fabric::Load.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::dataplane {

struct EalOptions {
  int memory_mb = 512;        // for packet buffers and device rings
  bool use_hugepages = true;  // if enough hugepages are free; otherwise ordinary pages are used,
                              // and Eal::memory says so
  // Keep all memory in one file. Drivers that lend buffers to another process need that (net_memif
  // with zero-copy=yes).
  bool one_memory_file = false;
  bool log_to_stderr = false;  // print DPDK's own log lines; only errors unless verbose
  bool verbose = false;
  // DPDK's telemetry socket, /var/run/dpdk/bfly<PID>/dpdk_telemetry.v2, which dpdk-telemetry.py
  // reads. StopEal removes it. A process that was killed leaves it behind until another process
  // starts.
  bool telemetry = false;
};

// The result of StartEal.
struct Eal {
  bool hugepages = false;
  // "hugepages" or "no hugepages (slower): ..." with what to do about it.
  std::string memory;
  std::string dpdk_version;
};

// Usable CPUs, at most kMostWorkers, become lcores with a thread pinned to each, which sleeps until
// a worker is launched (eal_lcores.h). The caller becomes an lcore too, but this lcore takes no CPU
// from a worker: it may run on any usable CPU that is not isolated. StartEal touches no PCI device
// before a fabric names it, leaves no file behind, and opens no socket except that of telemetry, so
// data planes on one machine do not disturb each other. A second call returns what the first call
// returned.
//
// FailedPrecondition quotes DPDK, and names a missing capability if that is the reason.
absl::StatusOr<Eal> StartEal(const EalOptions& options);

// The threads of DPDK's lcores, which are pinned to their CPUs. The control's lcore is not among
// them. Empty before StartEal.
std::vector<pid_t> LcoreThreads();

// Frees what StartEal took. Fabrics must have been unloaded. EAL cannot start again in this
// process.
void StopEal();

}  // namespace bfly::dataplane
