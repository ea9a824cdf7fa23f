// SPDX-License-Identifier: Apache-2.0
// LoadedFabric: recording latencies where packets are delivered.
#include <rte_cycles.h>

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

absl::Status LoadedFabric::RecordLatency(bool on) {
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  std::vector<std::unique_ptr<DeliveryLatency>> latency(on ? workers_.size() : 0);
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (egresses_[w] == nullptr) continue;
    if (on) latency[w] = std::make_unique<DeliveryLatency>();
    egresses_[w]->RecordLatency(on ? latency[w].get() : nullptr);
  }
  latency_before_.push_back(std::move(latency_));
  latency_ = std::move(latency);
  if (WaitForPasses()) latency_before_.clear();
  return absl::OkStatus();
}

LatencyReport LoadedFabric::latency() const {
  const std::lock_guard<std::mutex> lock(control_);
  LatencyReport report{.recording = !latency_.empty(), .first_stage = plan_.first_stage};
  if (!report.recording) return report;
  const double hz = static_cast<double>(rte_get_tsc_hz());
  std::vector<const LatencyHistogram*> end_to_end, links, late;
  for (const auto& latency : latency_) {
    if (latency == nullptr) continue;
    end_to_end.push_back(&latency->end_to_end);
    links.push_back(&latency->links);
    late.push_back(&latency->late);
  }
  report.end_to_end = Summarize(end_to_end, hz);
  report.links = Summarize(links, hz);
  report.late = Summarize(late, hz);
  return report;
}

}  // namespace bfly::dataplane
