// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_stages.h"

#include <rte_cycles.h>

#include <utility>

namespace bfly::dataplane {

LoadedStages::LoadedStages(const FabricConfig& config, const Network& network,
                           const FabricPlan& plan, const Workers& workers)
    : config_(config),
      network_(network),
      plan_(plan),
      workers_(workers),
      shapes_(static_cast<size_t>(plan.last_stage - plan.first_stage + 1)),
      timed_(shapes_.size()),
      latency_(shapes_.size()),
      stores_(workers.size()) {
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    stages_.push_back(std::make_unique<Stage>(network_, s));
    workers_[WorkerOfStage(s)]->AddStage(stages_.back().get());
  }
}

int LoadedStages::WorkerOfStage(int stage) const {
  int lcore = 0;
  for (const StagePlacement& p : config_.placement) {
    if (stage >= p.first_stage && stage <= p.last_stage) lcore = p.lcore;
  }
  return plan_.worker_of_lcore(lcore);
}

TimedLinks* LoadedStages::TimedLinksOf(int stage) {
  std::unique_ptr<TimedLinks>& timed = timed_[stage - plan_.first_stage];
  if (timed) return timed.get();
  const int worker = WorkerOfStage(stage);
  if (!stores_[worker]) {
    // In equal parts, and address space only until it is used.
    const size_t bytes = (size_t{config_.queue_memory_mb} << 20) / workers_.size();
    stores_[worker] = std::make_unique<PacketStore>(bytes);
  }
  timed =
      std::make_unique<TimedLinks>(of(stage).links(), network_.link_index({stage, 0, 0}),
                                   stores_[worker].get(), &of(stage).cold(0), config_.network.seed);
  timed->RecordLatency(latency_[stage - plan_.first_stage]);
  return timed.get();
}

void LoadedStages::Offer(const LinkPlan& links, GracePeriod& taken_up, Retired& retired) {
  std::vector<std::pair<Worker*, std::shared_ptr<const ShapeTable>>> replaced;
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    std::shared_ptr<const ShapeTable>& current = shapes_[s - plan_.first_stage];
    auto table = std::make_shared<const ShapeTable>(links, s, network_.rows(), network_.ports(),
                                                    static_cast<double>(rte_get_tsc_hz()));
    if (current && current->SameAs(*table)) continue;
    TimedLinks* timed = timed_[s - plan_.first_stage].get();
    if (table->takes_part()) timed = TimedLinksOf(s);
    of(s).OfferShapes(table.get(), timed);
    replaced.emplace_back(workers_[WorkerOfStage(s)].get(),
                          std::exchange(current, std::move(table)));
  }
  for (auto& [worker, table] : replaced) {
    taken_up.Ask(worker->epoch());
    if (table) retired.Add(taken_up, std::move(table));
  }
}

void LoadedStages::SetLinkUp(LinkId link, bool up) {
  const auto ports = static_cast<uint32_t>(network_.ports());
  of(link.stage).SetLinkUp(link.row * ports + static_cast<uint32_t>(link.port), up);
}

LoadedStages::Histograms LoadedStages::RecordLatency(bool on) {
  Histograms histograms;
  for (size_t i = 0; i < stages_.size(); ++i) {
    latency_[i] =
        on ? histograms.emplace_back(std::make_unique<LatencyHistogram>()).get() : nullptr;
    if (timed_[i]) timed_[i]->RecordLatency(latency_[i]);
  }
  return histograms;
}

void LoadedStages::Read(std::vector<LinkCounters>& links) const {
  const double ns_per_tick = 1e9 / static_cast<double>(rte_get_tsc_hz());
  links.reserve(links.size() + stages_.size() * network_.rows() * network_.ports());
  for (const auto& stage : stages_) {
    const TimedLinks* const timed = stage->timed_counters();
    for (uint32_t l = 0; l < stage->links(); ++l) {
      const LinkHot& hot = stage->hot(l);
      const LinkCold& cold = stage->cold(l);
      LinkCounters& link = links.emplace_back();
      link.packets = hot.packets.load(std::memory_order_relaxed);
      link.bytes = hot.bytes.load(std::memory_order_relaxed);
      link.occupancy = cold.occupancy.load(std::memory_order_relaxed);
      link.occupancy_peak = cold.peak.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kQueueFull)] =
          cold.queue_full.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kLinkDown)] =
          cold.link_down.load(std::memory_order_relaxed);
      if (timed == nullptr) continue;
      const TimedCounters& counters = timed->counters(l);
      link.drops[static_cast<int>(DropReason::kLoss)] =
          counters.lost.load(std::memory_order_relaxed);
      link.drops[static_cast<int>(DropReason::kQueueMemory)] =
          counters.no_memory.load(std::memory_order_relaxed);
      link.busy_ns = static_cast<uint64_t>(
          static_cast<double>(counters.busy.load(std::memory_order_relaxed)) * ns_per_tick);
    }
  }
}

}  // namespace bfly::dataplane
