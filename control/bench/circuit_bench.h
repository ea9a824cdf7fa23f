// SPDX-License-Identifier: Apache-2.0
// How fast the circuit protocols choose, beside plain textbook implementations in the same run and
// on the same requests. The two must choose the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

struct CircuitBenchOptions {
  std::string protocol = "minimum";
  uint32_t rows = 1024;
  uint64_t seed = 1;
  int runs = 5;
  uint32_t workers = 1;  // threads that choose the paths; the textbook has one
};

// Seconds of one run; of repeated runs.
struct BenchSpread {
  double median = 0, lowest = 0, highest = 0;
};

struct CircuitBenchResult {
  std::string network;  // its kind
  // Of one run: set-ups and releases one at a time for minimum; requests of one random permutation
  // for the others.
  uint64_t operations = 0;
  BenchSpread seconds;      // by the wall clock
  BenchSpread cpu_seconds;  // of all threads together
  BenchSpread textbook_seconds;
  // The most memory the process had after the first run, before the textbook's.
  uint64_t peak_bytes = 0;
};

// InvalidArgument names the field: protocol ("minimum", "collision", "benes", "greedy",
// "one_choice", "valiant"), rows, runs or workers. Internal: the textbook chose other paths, so one
// of the two is wrong.
absl::StatusOr<CircuitBenchResult> RunCircuitBench(const CircuitBenchOptions& options);
std::vector<std::string> BenchedProtocols();

}  // namespace bfly::control
