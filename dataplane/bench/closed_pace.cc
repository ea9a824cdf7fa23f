// SPDX-License-Identifier: Apache-2.0
// Which part set the pace of a closed bench.
#include <string>

#include "absl/strings/str_format.h"
#include "dataplane/bench/closed_bench.h"
#include "dataplane/bench/process_time.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {
namespace {

constexpr double kLeastBusy = 0.95;    // the least share of the passes
constexpr double kMostDropped = 0.05;  // the largest share of the frames

// `on_cpu` is the share of all `cpus` together, so that each had its own for kLeastOnCpu at least.
absl::Status HadCpus(const std::string& who, double on_cpu, size_t cpus, bool may_use_chrt) {
  const double least = 1 - (1 - kLeastOnCpu) / static_cast<double>(cpus);
  if (on_cpu >= least) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "other programs took the CPUs of %s: in one run it had them for %g %% of the time, and "
      "%.0f %% are needed for a ratio; stop what else runs%s",
      who, PercentRoundedDown(on_cpu), 100 * least, may_use_chrt ? ", or use chrt" : ""));
}

}  // namespace

absl::Status CheckPace(const ClosedBenchOptions& options, const ClosedBenchResult& result) {
  const bool may_use_chrt =
      options.placement == ClosedPlacement::kOne || UsableCpus().size() > result.cpus.size();
  absl::Status status = HadCpus("bfly", result.on_cpu, result.cpus.size(), may_use_chrt);
  for (const ForwarderRuns& forwarder : result.testpmd) {
    status.Update(HadCpus("dpdk-testpmd " + forwarder.mode, forwarder.on_cpu,
                          static_cast<size_t>(result.port_pairs), may_use_chrt));
  }
  status.Update(
      HadCpus("Open vSwitch", result.open_vswitch_on_cpu, result.cpus.size(), may_use_chrt));
  // Two workers wait for each other, which is a part of what is measured.
  if (result.one_core_busy < kLeastBusy) {
    status.Update(absl::FailedPreconditionError(absl::StrFormat(
        "the worker waited for frames: alone it moved some in %g %% of its passes, and %.0f %% "
        "are needed for a ratio",
        PercentRoundedDown(result.one_core_busy), 100 * kLeastBusy)));
  }
  if (result.dropped_part > kMostDropped) {
    status.Update(absl::FailedPreconditionError(absl::StrFormat(
        "links or ports set the pace: %.1f %% of the frames were dropped, and at most %.0f %% may "
        "be for a ratio",
        100 * result.dropped_part, 100 * kMostDropped)));
  }
  return status;
}

}  // namespace bfly::dataplane
