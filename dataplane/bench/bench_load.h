// SPDX-License-Identifier: Apache-2.0
// The generator and sink of the port bench, on one core. It offers frames at one port as fast as
// the device under test takes them, and takes from another port what the device forwards.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/bench/load_port.h"
#include "dataplane/bench/process_time.h"

namespace bfly::dataplane {

struct BenchLoadOptions {
  LoadPort* in = nullptr;   // where frames are offered to the device
  LoadPort* out = nullptr;  // where frames are taken from it
  std::string in_socket;
  std::string out_socket;
  pid_t device = 0;  // the process of the device under test
  double warm_up_seconds = 0.1;
  double seconds = 1;            // longer if no frame comes back
  double patience_seconds = 30;  // for the device to connect, and then to forward a frame
};

struct BenchLoadResult {
  double seconds = 0;  // the measured time, to which the other figures belong
  uint64_t sent = 0;   // frames that the device took, where the load can see it
  uint64_t received = 0;
  uint64_t received_since_connected = 0;
  uint64_t strange = 0;  // those of the `received` frames that are not for a row
  // The share of the time in which certainly a burst of frames waited for the device, and in which
  // certainly there was room for a burst that it sends.
  double fed = 0;
  double drained = 0;
  ProcessTime device;  // the CPU time of the device's process in the measured time
};

// Runs on the calling thread. Unavailable: the device did not do its part in time.
absl::StatusOr<BenchLoadResult> RunBenchLoad(const BenchLoadOptions& options);

struct BenchLoadAlone {
  // Frames a second with a device that copies no frame, in the fastest of several short runs: what
  // the load can do if no other program takes its CPU.
  double pps = 0;
  double hand_over_ns = 0;  // until one CPU sees what the other wrote
};

// Measures the load with a device that takes all frames that wait and sends them without copying
// them: a thread on the CPU `device_cpu`.
BenchLoadAlone MeasureLoadAlone(LoadPort* in, LoadPort* out, int device_cpu, double seconds);

// Keeps the calling thread on one CPU.
void StayOnCpu(int cpu);

}  // namespace bfly::dataplane
