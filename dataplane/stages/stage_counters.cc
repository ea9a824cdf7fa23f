// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/stage_counters.h"

#include <rte_cycles.h>

#include <algorithm>

#include "dataplane/stages/fused_stages.h"

namespace bfly::dataplane {

uint64_t RefusedFigure::Take(uint64_t came) const {
  const uint64_t taken = came - std::min(came, refused.load(std::memory_order_relaxed));
  uint64_t before = told.load(std::memory_order_relaxed);
  while (before < taken && !told.compare_exchange_weak(before, taken, std::memory_order_relaxed)) {
  }
  return std::max(before, taken);
}

const LinkRefused* StageCounters::RefusedAt(uint32_t link) const {
  const LinkRefused* const refused = stage_.refused_.load(std::memory_order_acquire);
  return refused == nullptr ? nullptr : &refused[link - stage_.first_link_];
}

LinkCounters StageCounters::Of(uint32_t link, double ns_per_tick) const {
  LinkCounters counters = Single(link, ns_per_tick);
  const LinkCount fused = FusedCount(link);
  counters.packets += fused.packets;
  counters.bytes += fused.bytes;
  if (const LinkRefused* const refused = RefusedAt(link)) {
    counters.packets = refused->packets.Take(counters.packets);
    counters.bytes = refused->bytes.Take(counters.bytes);
  }
  return counters;
}

void StageCounters::Append(double ns_per_tick, FusedReadings& readings,
                           std::vector<LinkCounters>& links) const {
  const size_t first = links.size();
  for (uint32_t i = 0; i < stage_.links_; ++i) {
    links.push_back(Single(stage_.first_link_ + i, ns_per_tick));
  }
  for (const Stage::FusedPart& part : stage_.fused_) {
    const std::vector<LinkCount>& reading = readings.Of(*part.stages);
    for (uint32_t i = 0; i < stage_.links_; ++i) {
      const LinkCount more = part.stages->Carried(part.position, stage_.first_link_ + i, reading);
      links[first + i].packets += more.packets;
      links[first + i].bytes += more.bytes;
    }
    if (part.position + 1 == part.stages->stages()) readings.Forget(*part.stages);
  }
  for (uint32_t i = 0; i < stage_.links_; ++i) {
    const LinkRefused* const refused = RefusedAt(stage_.first_link_ + i);
    if (refused == nullptr) return;
    LinkCounters& counters = links[first + i];
    counters.packets = refused->packets.Take(counters.packets);
    counters.bytes = refused->bytes.Take(counters.bytes);
  }
}

LinkCount StageCounters::FusedCount(uint32_t link) const {
  LinkCount sum;
  for (const Stage::FusedPart& part : stage_.fused_) {
    const LinkCount more = part.stages->Carried(part.position, link);
    sum.packets += more.packets;
    sum.bytes += more.bytes;
  }
  return sum;
}

// The packets that crossed a link are loaded before the packets that the link refused. So a reader
// that the worker overtakes reports too few packets rather than too many.
LinkCount StageCounters::SingleCount(uint32_t link) const {
  const LinkHot& hot = stage_.hot(link);
  LinkCount count{.packets = hot.packets.load(std::memory_order_acquire),
                  .bytes = hot.bytes.load(std::memory_order_acquire)};
  if (const TimedLinks* const timed = stage_.timed_counters()) {
    const TimedCounters& more = timed->counters(link);
    count.packets += more.packets.load(std::memory_order_relaxed);
    count.bytes += more.bytes.load(std::memory_order_relaxed);
  }
  return count;
}

LinkCounters StageCounters::Single(uint32_t link, double ns_per_tick) const {
  const LinkCold& cold = stage_.cold(link);
  const LinkCount count = SingleCount(link);
  LinkCounters counters;
  counters.packets = count.packets;
  counters.bytes = count.bytes;
  counters.occupancy = cold.occupancy.load(std::memory_order_relaxed);
  counters.occupancy_peak = cold.peak.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kQueueFull)] =
      cold.queue_full.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kLinkDown)] =
      cold.link_down.load(std::memory_order_relaxed);
  const TimedLinks* const timed = stage_.timed_counters();
  if (timed == nullptr) return counters;
  const TimedDrops& drops = timed->drops(link);
  counters.drops[static_cast<int>(DropReason::kLoss)] = drops.lost.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kQueueMemory)] =
      drops.no_memory.load(std::memory_order_relaxed);
  const uint64_t busy = timed->counters(link).BusyBy(rte_rdtsc());
  counters.busy_ns = static_cast<uint64_t>(static_cast<double>(busy) * ns_per_tick);
  return counters;
}

void StageCounters::Read(LinkFigure figure, uint32_t first, double ns_per_tick,
                         std::span<uint64_t> values) const {
  const auto each = [first, values](auto read) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = read(first + static_cast<uint32_t>(i));
  };
  // Nearly all links of a large network take no time.
  const bool timed = stage_.timed_counters() != nullptr;
  const auto now = std::memory_order_relaxed;
  switch (figure) {
    case LinkFigure::kPackets:
      return each([&](uint32_t link) {
        const uint64_t came = SingleCount(link).packets + FusedCount(link).packets;
        const LinkRefused* const refused = RefusedAt(link);
        return refused == nullptr ? came : refused->packets.Take(came);
      });
    case LinkFigure::kBytes:
      return each([&](uint32_t link) {
        const uint64_t came = SingleCount(link).bytes + FusedCount(link).bytes;
        const LinkRefused* const refused = RefusedAt(link);
        return refused == nullptr ? came : refused->bytes.Take(came);
      });
    case LinkFigure::kOccupancy:
      return each([&](uint32_t link) { return uint64_t{stage_.cold(link).occupancy.load(now)}; });
    case LinkFigure::kOccupancyPeak:
      return each([&](uint32_t link) { return uint64_t{stage_.cold(link).peak.load(now)}; });
    case LinkFigure::kDrops:
      return each([&](uint32_t link) {
        if (timed) return FigureOf(Of(link, ns_per_tick), figure);
        return stage_.cold(link).queue_full.load(now) + stage_.cold(link).link_down.load(now);
      });
    case LinkFigure::kBusy:
      return each(
          [&](uint32_t link) { return timed ? Of(link, ns_per_tick).busy_ns : uint64_t{0}; });
    case LinkFigure::kUse:
      return each([&](uint32_t link) {
        if (timed) return FigureOf(Of(link, ns_per_tick), figure);
        const LinkCold& cold = stage_.cold(link);
        return stage_.hot(link).packets.load(now) | FusedCount(link).packets | cold.peak.load(now) |
               cold.queue_full.load(now) | cold.link_down.load(now);
      });
  }
}

}  // namespace bfly::dataplane
