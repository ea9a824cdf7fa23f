// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/loaded_stages.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/memory_need.h"
#include "dataplane/runtime/numa.h"
#include "dataplane/stages/stage_counters.h"

namespace bfly::dataplane {
namespace {

double NanosecondsPerTick() { return 1e9 / static_cast<double>(TscHz()); }

}  // namespace

LoadedStages::LoadedStages(const FabricConfig& config, const Network& network,
                           const FabricPlan& plan, const Workers& workers)
    : config_(config), network_(network), plan_(plan), workers_(workers), stores_(workers.size()) {
  for (int s = plan_.first_stage; s <= plan_.last_stage; ++s) {
    LoadedStage& loaded = stages_.emplace_back(LoadedStage{.number = s, .blocks = {}});
    for (const BlockPlan& block : plan_.blocks_of(s)) {
      const OnNode on(workers_[block.worker]->node());
      loaded.blocks.push_back(
          {.stage = std::make_unique<Stage>(network_, s, block.rows), .plan = block});
      workers_[block.worker]->AddStage(loaded.blocks.back().stage.get());
    }
  }
  for (const uint64_t index : config_.down_links) SetLinkUp(network_.link_at(index), false);
  AvoidLinks(config_.avoided_links);
}

Stage& LoadedStages::of(int stage, Row row) {
  std::vector<Block>& blocks = stages_[stage - plan_.first_stage].blocks;
  size_t i = 0;
  while (row > blocks[i].plan.rows.last) ++i;
  return *blocks[i].stage;
}

FusedStages* LoadedStages::Fuse(int stage, int count, Row row) {
  std::vector<Stage*> blocks;
  for (int s = stage; s < stage + count; ++s) blocks.push_back(&of(s, row));
  const uint32_t rows = blocks[0]->links() / static_cast<uint32_t>(network_.ports());
  const Row first = blocks[0]->first_link() / static_cast<uint32_t>(network_.ports());
  std::unique_ptr<FusedStages>& fused = fused_[{stage, count, first}];
  if (!fused) {
    fused = std::make_unique<FusedStages>(network_, stage, std::move(blocks),
                                          RowRange{first, first + rows - 1});
  }
  return fused.get();
}

TimedLinks* LoadedStages::TimedLinksOf(int stage, Block& block) {
  if (block.timed) return block.timed.get();
  const OnNode on(workers_[block.plan.worker]->node());
  const uint32_t first = block.stage->first_link();
  block.timed = std::make_unique<TimedLinks>(
      block.stage->links(), network_.link_index({stage, 0, 0}), stores_[block.plan.worker].get(),
      &block.stage->cold(first), config_.network.seed, first, block.stage->tag_bits_behind());
  block.timed->RecordLatency(block.latency);
  return block.timed.get();
}

absl::Status LoadedStages::MakeStores(const std::set<int>& workers) {
  std::map<int, std::unique_ptr<PacketStore>> made;
  for (const int worker : workers) {
    if (stores_[worker]) continue;
    const OnNode on(workers_[worker]->node());
    // Each worker gets an equal part, which is only address space until it is used.
    std::unique_ptr<PacketStore>& store = made[worker];
    store =
        std::make_unique<PacketStore>((size_t{config_.queue_memory_mb} << 20) / workers_.size());
    if (store->has_address_space()) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "queue_memory_mb: the system refuses ", config_.queue_memory_mb,
        " MiB of address space for packets on links; set less, or raise the limit (ulimit -v, "
        "LimitAS of the service, or vm.overcommit_memory)"));
  }
  for (auto& [worker, store] : made) stores_[worker] = std::move(store);
  return absl::OkStatus();
}

absl::Status LoadedStages::Offer(const LinkPlan& links, GracePeriod& taken_up, Retired& retired) {
  std::vector<std::pair<LoadedStage*, std::shared_ptr<const ShapeTable>>> changes;
  std::set<int> keepers;  // the workers that keep packets on links
  uint64_t need = 0;      // memory for links that begin to keep packets, bytes
  for (LoadedStage& loaded : stages_) {
    auto table = std::make_shared<const ShapeTable>(links, loaded.number, network_.rows(),
                                                    network_.ports(), static_cast<double>(TscHz()));
    if (loaded.shapes && loaded.shapes->SameAs(*table)) continue;
    if (table->keeps_packets()) {
      for (const Block& block : loaded.blocks) {
        keepers.insert(block.plan.worker);
        if (!block.timed) need += block.stage->links() * kTimedBytesPerLink;
      }
    }
    changes.emplace_back(&loaded, std::move(table));
  }
  if (absl::Status status =
          CheckMemoryNeed(network_, need, AvailableMemory(), "links that take time or share it",
                          "fewer links with a rate, a delay or a loss");
      !status.ok()) {
    return status;
  }
  if (absl::Status status = MakeStores(keepers); !status.ok()) return status;
  std::vector<std::shared_ptr<const ShapeTable>> replaced;
  for (auto& [loaded, table] : changes) {
    for (Block& block : loaded->blocks) {
      TimedLinks* timed = block.timed.get();
      if (table->keeps_packets()) timed = TimedLinksOf(loaded->number, block);
      block.stage->OfferShapes(table.get(), timed);
    }
    replaced.push_back(std::exchange(loaded->shapes, std::move(table)));
  }
  if (replaced.empty()) return absl::OkStatus();
  for (const auto& worker : workers_) taken_up.Ask(worker->epoch());
  for (auto& table : replaced) {
    if (table) retired.Add(taken_up, std::move(table));
  }
  return absl::OkStatus();
}

void LoadedStages::SetLinkUp(LinkId link, bool up) {
  const auto ports = static_cast<uint32_t>(network_.ports());
  of(link.stage, link.row).SetLinkUp(link.row * ports + static_cast<uint32_t>(link.port), up);
}

void LoadedStages::AvoidLinks(const std::vector<uint64_t>& links) {
  const auto set = [this](uint64_t index, bool avoided) {
    const LinkId link = network_.link_at(index);
    if (link.stage < plan_.first_stage || link.stage > plan_.last_stage) return;
    const auto ports = static_cast<uint32_t>(network_.ports());
    of(link.stage, link.row)
        .SetAvoided(link.row * ports + static_cast<uint32_t>(link.port), avoided);
  };
  const std::set<uint64_t> wanted(links.begin(), links.end());
  for (const uint64_t index : avoided_) {
    if (wanted.count(index) == 0) set(index, false);
  }
  for (const uint64_t index : wanted) set(index, true);
  avoided_ = wanted;
}

LoadedStages::Histograms LoadedStages::RecordLatency(bool on) {
  Histograms histograms;
  for (LoadedStage& loaded : stages_) {
    if (on) histograms.emplace_back();
    for (Block& block : loaded.blocks) {
      block.latency =
          on ? histograms.back().emplace_back(std::make_unique<LatencyHistogram>()).get() : nullptr;
      if (block.timed) block.timed->RecordLatency(block.latency);
    }
  }
  return histograms;
}

void LoadedStages::Read(std::vector<LinkCounters>& links) const {
  const double ns_per_tick = NanosecondsPerTick();
  links.reserve(links.size() + stages_.size() * network_.rows() * network_.ports());
  FusedReadings readings;
  for (const LoadedStage& loaded : stages_) {
    for (const Block& block : loaded.blocks) {
      StageCounters(*block.stage).Append(ns_per_tick, readings, links);
    }
  }
}

const Stage& LoadedStages::BlockOf(uint64_t stage, uint64_t link) const {
  const std::vector<Block>& blocks = stages_[stage - plan_.first_stage].blocks;
  const auto behind = std::partition_point(
      blocks.begin(), blocks.end(),
      [link](const Block& block) { return block.stage->first_link() <= link; });
  return *std::prev(behind)->stage;
}

LinkCounters LoadedStages::ReadLink(uint64_t index) const {
  const uint64_t per_stage = uint64_t{network_.rows()} * network_.ports();
  const uint64_t link = index % per_stage;
  return StageCounters(BlockOf(index / per_stage, link))
      .Of(static_cast<uint32_t>(link), NanosecondsPerTick());
}

void LoadedStages::ReadFigures(LinkFigure figure, uint64_t first,
                               std::span<uint64_t> values) const {
  const uint64_t per_stage = uint64_t{network_.rows()} * network_.ports();
  uint64_t link = first % per_stage;
  while (!values.empty()) {
    const Stage& block = BlockOf(first / per_stage, link);
    const uint64_t left = uint64_t{block.first_link()} + block.links() - link;
    const size_t count = std::min<uint64_t>(values.size(), left);
    StageCounters(block).Read(figure, static_cast<uint32_t>(link), NanosecondsPerTick(),
                              values.first(count));
    values = values.subspan(count);
    link += count;
  }
}

}  // namespace bfly::dataplane
