// SPDX-License-Identifier: Apache-2.0
// A fabric under load, measured with and without a subscriber to the counters of all links.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/cli/served_fabric.h"
#include "control/cli/terminal.h"
#include "dataplane/core/snapshot.h"

namespace bfly::control {

struct TelemetryBenchOptions {
  uint32_t rows = 1024;
  uint32_t interval_ms = 100;
  int runs = 31;
  double seconds = 0.5;
  uint64_t seed = 1;
};

// What one measurement found, of the time between its ends.
struct TelemetryLoad {
  double packets = 0;     // a second
  double by_cpu = 0;      // packets a second of CPU time that the worker got
  double per_hop = 0;     // TSC cycles
  double waited = 0;      // part of the time in which others ran on the worker's CPU
  double controller = 0;  // CPU time of the controller, as part of the time
  double agent = 0;       // of the data plane without the worker, likewise
  double pictures = 0;    // a second
  double seconds = 0;     // between the ends
};

struct TelemetryBenchResult {
  std::vector<TelemetryLoad> without, with;
  uint64_t links = 0;  // in a picture
  dataplane::Conservation account;
};

// InvalidArgument: a measurement is too short to tell whether the pictures that were asked for
// came.
absl::Status CheckTelemetryOptions(const TelemetryBenchOptions& options);

// FailedPrecondition: in all measurements `with` a subscriber together, fewer than 80 % of the
// pictures came that were asked for. One picture less is the moment of the look.
absl::Status CheckPictures(uint32_t interval_ms, const std::vector<TelemetryLoad>& with);

// Loads `fabric`, whose one worker runs on CPU `worker_cpu`, and moves this process and the
// controller to other CPUs. FAILED_PRECONDITION: the worker was idle, or CheckPictures says why.
// CANCELLED: a signal came.
absl::StatusOr<TelemetryBenchResult> RunTelemetryBench(const TelemetryBenchOptions& options,
                                                       const ServedFabric& fabric, int worker_cpu,
                                                       SignalReader& signals);

}  // namespace bfly::control
