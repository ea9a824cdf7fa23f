// SPDX-License-Identifier: Apache-2.0
// LoadedFabric: recording the latencies of deliveries and of links that take time.

#include <chrono>
#include <memory>
#include <utility>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/loaded_fabric.h"

namespace bfly::dataplane {
namespace {

LatencyReport ReportOf(const RecordedLatency& recorded, int first_stage) {
  LatencyReport report{.recording = !recorded.stages.empty(), .first_stage = first_stage};
  if (!report.recording) return report;
  const double hz = static_cast<double>(TscHz());
  std::vector<const LatencyHistogram*> end_to_end, links, late;
  for (const auto& latency : recorded.deliveries) {
    end_to_end.push_back(&latency->end_to_end);
    links.push_back(&latency->links);
    late.push_back(&latency->late);
  }
  report.end_to_end = Summarize(end_to_end, hz);
  report.histogram = BucketsOf(end_to_end, hz);
  report.links = Summarize(links, hz);
  report.late = Summarize(late, hz);
  for (const auto& blocks : recorded.stages) {
    std::vector<const LatencyHistogram*> of_stage;
    for (const auto& block : blocks) of_stage.push_back(block.get());
    report.stages.push_back(Summarize(of_stage, hz));
  }
  return report;
}

}  // namespace

void LoadedFabric::WaitForWorkers() const {
  GracePeriod period;
  for (const auto& worker : workers_) period.Ask(worker->epoch());
  while (!period.Wait(std::chrono::steady_clock::now() + std::chrono::seconds(1))) {
  }
}

absl::StatusOr<LatencyReport> LoadedFabric::RecordLatency(bool on) {
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  RecordedLatency latency;
  for (const auto& egress : assembly_.egresses()) {
    if (!egress) continue;
    egress->RecordLatency(
        on ? latency.deliveries.emplace_back(std::make_unique<DeliveryLatency>()).get() : nullptr);
  }
  latency.stages = stages_.RecordLatency(on);
  GracePeriod period;
  for (const auto& worker : workers_) period.Ask(worker->epoch());
  const auto before =
      std::make_shared<RecordedLatency>(std::exchange(latency_, std::move(latency)));
  retired_.Add(period, before);
  period.Wait(std::chrono::steady_clock::now() + kTakeUpTime);
  retired_.Collect();
  return ReportOf(*before, plan_.first_stage);
}

LatencyReport LoadedFabric::latency() const {
  const std::lock_guard<std::mutex> lock(control_);
  return ReportOf(latency_, plan_.first_stage);
}

}  // namespace bfly::dataplane
