// SPDX-License-Identifier: Apache-2.0
// LoadedFabric: recording latencies, where packets are delivered and where links take time.
#include <rte_cycles.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "dataplane/fabric/loaded_fabric.h"

namespace bfly::dataplane {

// Two passes of every worker from now on; false if that took more than two seconds. What a worker
// was given before it does not use after them.
bool LoadedFabric::WaitForPasses() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (const auto& worker : workers_) {
    const uint64_t before = worker->passes();
    while (worker->passes() < before + 2) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

// The fence and the acquire loads pair with what the caller told the workers before and with the
// end of their passes: a pass that began before that is over, and later passes know.
void LoadedFabric::WaitForWorkers() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const auto& worker : workers_) {
    const uint64_t before = worker->passes();
    while (!worker->stopped() && worker->passes() < before + 2) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

absl::Status LoadedFabric::RecordLatency(bool on) {
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  RecordedLatency latency;
  for (const auto& egress : egresses_) {
    DeliveryLatency* const delivery =
        on && egress ? latency.deliveries.emplace_back(std::make_unique<DeliveryLatency>()).get()
                     : nullptr;
    if (egress) egress->RecordLatency(delivery);
  }
  for (const auto& timed : timed_) {
    LatencyHistogram* const stage =
        on ? latency.stages.emplace_back(std::make_unique<LatencyHistogram>()).get() : nullptr;
    if (timed) timed->RecordLatency(stage);
  }
  latency_before_.push_back(std::move(latency_));
  latency_ = std::move(latency);
  if (WaitForPasses()) latency_before_.clear();
  return absl::OkStatus();
}

LatencyReport LoadedFabric::latency() const {
  const std::lock_guard<std::mutex> lock(control_);
  LatencyReport report{.recording = !latency_.stages.empty(), .first_stage = plan_.first_stage};
  if (!report.recording) return report;
  const double hz = static_cast<double>(rte_get_tsc_hz());
  std::vector<const LatencyHistogram*> end_to_end, links, late;
  for (const auto& latency : latency_.deliveries) {
    end_to_end.push_back(&latency->end_to_end);
    links.push_back(&latency->links);
    late.push_back(&latency->late);
  }
  report.end_to_end = Summarize(end_to_end, hz);
  report.links = Summarize(links, hz);
  report.late = Summarize(late, hz);
  for (const auto& stage : latency_.stages) report.stages.push_back(Summarize({stage.get()}, hz));
  return report;
}

}  // namespace bfly::dataplane
