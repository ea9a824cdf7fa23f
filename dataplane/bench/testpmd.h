// SPDX-License-Identifier: Apache-2.0
// dpdk-testpmd as the yardstick of the port benches: a program that forwards between devices and
// does nothing else with a frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/bench/bench_processes.h"

namespace bfly::dataplane {

// Modes of forwarding that benches measure.
inline constexpr const char* kForwardModes[] = {"io", "mac", "macswap"};

struct TestpmdOptions {
  std::string program = "dpdk-testpmd";
  std::string mode = "io";           // the mode of forwarding
  std::vector<std::string> devices;  // testpmd forwards between the first two, the next two, ...
  std::vector<int> cpus;             // a forwarding core each
  // Bursts of frames of its own that it sends by every device before it forwards. 0: none.
  uint32_t first_bursts = 0;
  int memory_mb = 384;
  double patience_seconds = 30;  // for its start, and for each of its answers
};

class Testpmd {
 public:
  // Returns when testpmd forwards. What it prints goes to the file `log`. Unavailable: testpmd
  // ended or did not start in time; the error quotes what it printed last.
  static absl::StatusOr<std::unique_ptr<Testpmd>> Start(const TestpmdOptions& options,
                                                        const std::string& log);

  // Returns the frames a second that leave by `ports`, numbers in the order of the devices.
  // Unavailable: testpmd did not answer in time, or forwarded nothing.
  absl::StatusOr<double> SentPerSecond(const std::vector<int>& ports, double seconds);

  const BenchProcess& process() const { return *process_; }

 private:
  // Makes testpmd print the rates of these ports, and waits until it has.
  absl::Status ShowRates(const std::vector<int>& ports);

  Testpmd(const TestpmdOptions& options, std::unique_ptr<BenchProcess> process)
      : options_(options), process_(std::move(process)) {}

  const TestpmdOptions options_;
  const std::unique_ptr<BenchProcess> process_;
};

}  // namespace bfly::dataplane
