// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/fabric_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/circulation.h"
#include "dataplane/bench/process_time.h"
#include "dataplane/core/ledger.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/elapsed.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLookAgainSeconds = 0.01;
constexpr double kFabricStopSeconds = 10;
constexpr auto kNoCircuit = static_cast<size_t>(DropReason::kNoCircuit);

double BusyPart(const Snapshot& before, const Snapshot& after) {
  double least = 1;
  for (size_t i = 0; i < after.workers.size(); ++i) {
    const WorkerCounters &a = before.workers[i], &b = after.workers[i];
    if (b.ledger.injected == 0) continue;
    const auto passes = static_cast<double>(b.passes - a.passes);
    const auto idle = static_cast<double>(b.idle_passes - a.idle_passes);
    if (passes > 0) least = std::min(least, 1 - idle / passes);
  }
  return least;
}

double DroppedPart(const Conservation& before, const Conservation& after) {
  const auto injected = static_cast<double>(after.injected - before.injected);
  return injected > 0 ? static_cast<double>(after.dropped - before.dropped) / injected : 0;
}

int RunInChild(const FabricRunOptions& options, int report) {
  const auto eal = StartEal({.memory_mb = options.memory_mb, .use_hugepages = false});
  if (!eal.ok()) return ChildFailed(eal.status());
  auto fabric = Fabric::Load(options.config);
  if (!fabric.ok()) return ChildFailed(fabric.status());
  for (const auto& [input, output] : options.circuits) {
    const absl::Status installed =
        (*fabric)->InstallCircuit(input, GreedyTag((*fabric)->network(), input, output));
    if (!installed.ok()) return ChildFailed(installed);
  }
  for (const auto& [device, frames] : options.circulating) {
    if (absl::Status s = Circulate(device, frames); !s.ok()) return ChildFailed(s);
  }
  PauseFor(options.settle_seconds);
  const Snapshot before = (*fabric)->summary();
  const CpuShare share(getpid(), before.workers.size());
  const Clock::time_point start = Clock::now();
  PauseFor(options.seconds);
  Snapshot after = (*fabric)->summary();
  // On a busy machine, the workers may get no CPU for longer than this.
  while (after.conservation.delivered == before.conservation.delivered &&
         SecondsSince(start) < options.patience_seconds / 2) {
    PauseFor(kLookAgainSeconds);
    after = (*fabric)->summary();
  }
  const double took = SecondsSince(start);
  const double on_cpu = share.so_far();
  if (absl::Status s = (*fabric)->Unload(); !s.ok()) return ChildFailed(s);
  FabricRun run = {
      .frames_per_second =
          static_cast<double>(after.conservation.delivered - before.conservation.delivered) / took,
      .busy = BusyPart(before, after),
      .dropped_part = DroppedPart(before.conservation, after.conservation),
      .on_cpu = on_cpu,
      .without_circuit = after.drops[kNoCircuit] - before.drops[kNoCircuit],
      .conservation = (*fabric)->summary().conservation};
  for (const WorkerCounters& worker : after.workers) {
    run.late_mean_us = std::max(run.late_mean_us, worker.lateness.mean_ns / 1e3);
    run.late_p99_us = std::max(run.late_p99_us, worker.lateness.p99_ns / 1e3);
  }
  return write(report, &run, sizeof(run)) == sizeof(run) ? 0 : 1;
}

}  // namespace

absl::StatusOr<FabricRun> RunFabric(const FabricRunOptions& options, const std::string& log) {
  auto process =
      BenchProcess::Fork(log, [&options](int report, int) { return RunInChild(options, report); });
  if (!process.ok()) return process.status();
  FabricRun run;
  const double deadline = 2 * options.seconds + options.patience_seconds;
  if (!(*process)->Read(&run, sizeof(run), deadline)) {
    return (*process)->Silent("bfly", "measured", deadline);
  }
  if (run.frames_per_second == 0) {
    return absl::UnavailableError(absl::StrCat("bfly delivered no frame in ", options.seconds,
                                               " s; it printed last: ", (*process)->LogTail()));
  }
  (*process)->Stop(kFabricStopSeconds);
  return run;
}

}  // namespace bfly::dataplane
