// SPDX-License-Identifier: Apache-2.0
// Measures how fast the circuit protocols choose paths, beside plain textbook implementations in
// the same run and on the same requests. Both must choose the same paths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"

namespace bfly::control {

struct CircuitBenchOptions {
  std::string protocol = "minimum";
  uint32_t rows = 1024;
  uint64_t seed = 1;
  int runs = 5;
  uint32_t workers = 1;  // threads that choose the paths; the textbook has one
};

struct CircuitBenchResult {
  std::string network;  // kind of network
  // Operations in one run: for minimum, set-ups and releases one at a time; for the other
  // protocols, the requests of one random permutation, which is routed again and again.
  uint64_t operations = 0;
  // The seconds that one run took.
  dataplane::RunStatistics seconds;      // by the wall clock
  dataplane::RunStatistics cpu_seconds;  // of all threads together
  dataplane::RunStatistics textbook_seconds;
  int textbook_runs = 0;  // half as many as the others, rounded up
  // The most memory that the process had after the first run, before the textbook's first run.
  uint64_t peak_bytes = 0;
};

// InvalidArgument names the field: protocol ("minimum", "collision", "benes", "greedy",
// "one_choice", "valiant"), rows, runs or workers. Internal: the textbook chose other paths, so one
// of the two is wrong.
absl::StatusOr<CircuitBenchResult> RunCircuitBench(const CircuitBenchOptions& options);
std::vector<std::string> BenchedProtocols();

}  // namespace bfly::control
