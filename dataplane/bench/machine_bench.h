// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, without bfly: copies, loads that wait for each other, and
// rte_ring. Figures of other benches stand beside these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"

namespace bfly::dataplane {

struct MachineBenchOptions {
  double seconds = 0.2;  // measured time of a run, 0.01..60
  int runs = 5;          // runs of each figure, 1..100
};

// A figure of work within `bytes` of memory, on pages of the size that the kernel gives.
struct SizedFigure {
  uint64_t bytes = 0;
  RunStatistics figure;
};

struct MachineBenchResult {
  int cpu = 0;                           // the CPU of all figures except the last
  std::vector<SizedFigure> copies = {};  // bytes a second by memcpy, from one half to the other
  std::vector<SizedFigure> walks = {};   // ns a load, where each load says where the next one goes
  RunStatistics ring_ns = {};  // to put a pointer into an rte_ring and to take it out, on one core
  // The same where `cpu` takes out what this CPU puts in. nullopt: the process may use only one
  // CPU.
  std::optional<int> other_cpu = {};
  RunStatistics ring_across_ns = {};
};

inline constexpr unsigned kRingBurst = 32;  // pointers that go into a ring, or come out, at once

// InvalidArgument names the option and its range. Unavailable: the other CPU did nothing.
absl::StatusOr<MachineBenchResult> RunMachineBench(const MachineBenchOptions& options);

// A random cycle through all of 0..count-1: element i is what follows i.
std::vector<uint32_t> RandomCycle(uint32_t count, uint64_t seed);

}  // namespace bfly::dataplane
