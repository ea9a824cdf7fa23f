// SPDX-License-Identifier: Apache-2.0
// LoadedFabric::SetLinks: new shapes are built aside and handed to the workers.
#include <rte_cycles.h>

#include <chrono>
#include <utility>

#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/links/link_plan.h"

namespace bfly::dataplane {
namespace {

constexpr std::chrono::seconds kTakeUpTime(2);

}  // namespace

int LoadedFabric::WorkerOfStage(int stage_number) const {
  int lcore = 0;
  for (const StagePlacement& p : config_.placement) {
    if (stage_number >= p.first_stage && stage_number <= p.last_stage) lcore = p.lcore;
  }
  return plan_.worker_of_lcore(lcore);
}

TimedLinks* LoadedFabric::TimedLinksOf(int stage_number) {
  std::unique_ptr<TimedLinks>& timed = timed_[stage_number - plan_.first_stage];
  if (timed) return timed.get();
  const int worker = WorkerOfStage(stage_number);
  if (!stores_[worker]) {
    // In equal parts, and address space only until it is used.
    const size_t bytes = (size_t{config_.queue_memory_mb} << 20) / workers_.size();
    stores_[worker] = std::make_unique<PacketStore>(bytes);
  }
  Stage& of = stage(stage_number);
  timed = std::make_unique<TimedLinks>(of.links(), network_.link_index({stage_number, 0, 0}),
                                       stores_[worker].get(), &of.cold(0), config_.network.seed);
  if (!latency_.stages.empty()) {
    timed->RecordLatency(latency_.stages[stage_number - plan_.first_stage].get());
  }
  return timed.get();
}

void LoadedFabric::OfferShapes(const LinkPlan& plan) {
  std::vector<std::pair<Worker*, std::shared_ptr<const ShapeTable>>> replaced;
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    std::shared_ptr<const ShapeTable>& current = shapes_[s - plan_.first_stage];
    auto table = std::make_shared<const ShapeTable>(plan, s, network_.rows(), network_.ports(),
                                                    static_cast<double>(rte_get_tsc_hz()));
    if (current && current->SameAs(*table)) continue;
    TimedLinks* timed = timed_[s - plan_.first_stage].get();
    if (table->takes_part()) timed = TimedLinksOf(s);
    stage(s).OfferShapes(table.get(), timed);
    replaced.emplace_back(workers_[WorkerOfStage(s)].get(),
                          std::exchange(current, std::move(table)));
  }
  for (auto& [worker, table] : replaced) {
    shapes_taken_up_.Ask(worker->epoch());
    if (table) retired_.Add(shapes_taken_up_, std::move(table));
  }
}

absl::Status LoadedFabric::SetLinks(const LinkPlan& plan) {
  if (absl::Status status = CheckLinkPlan(plan, network_); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(control_);
  if (!running_) return absl::FailedPreconditionError("the fabric is unloaded");
  const auto deadline = std::chrono::steady_clock::now() + kTakeUpTime;
  OfferShapes(plan);
  // Also for workers that had not taken up an earlier plan in time.
  const bool taken_up = shapes_taken_up_.Wait(deadline);
  retired_.Collect();
  if (taken_up) return absl::OkStatus();
  return absl::DeadlineExceededError(
      "a worker made no pass within 2 s; its links change when it does");
}

}  // namespace bfly::dataplane
