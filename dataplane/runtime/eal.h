// SPDX-License-Identifier: Apache-2.0
// DPDK's environment: once a process, before the first Fabric::Load.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace bfly::dataplane {

struct EalOptions {
  int memory_mb = 512;  // for packet buffers and device rings
  bool use_hugepages =
      true;  // if enough are free; otherwise ordinary pages, and Eal::memory says so
  bool log_to_stderr = false;  // DPDK's own log lines; errors only unless verbose
  bool verbose = false;
  // DPDK's telemetry socket, /var/run/dpdk/bfly<PID>/dpdk_telemetry.v2, which dpdk-telemetry.py
  // reads. StopEal removes it. A process that was killed leaves it behind until another one starts.
  bool telemetry = false;
};

// What StartEal found and did.
struct Eal {
  bool hugepages = false;
  // "hugepages" or "no hugepages (slower): ..." with what to do about it.
  std::string memory;
  std::string dpdk_version;
  int control_lcore = 0;  // of the thread that called StartEal; floats over all usable CPUs
};

// Every usable CPU N becomes lcore N with a thread pinned to it, asleep until a worker is launched.
// The caller becomes an lcore too, but one that takes no CPU from a worker. No PCI device is
// touched until a fabric names it, no file is left behind, and no socket opened but the one of
// telemetry; data planes side by side on one machine do not meet. Calling it again returns what the
// first call returned.
//
// FailedPrecondition carries DPDK's own words, and the capability that is missing if that is why.
absl::StatusOr<Eal> StartEal(const EalOptions& options);

// Frees what StartEal took. Fabrics must be gone. EAL cannot be started again in this process.
void StopEal();

}  // namespace bfly::dataplane
