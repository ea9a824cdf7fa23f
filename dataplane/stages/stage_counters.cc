// SPDX-License-Identifier: Apache-2.0
// Readers see a stage's links through relaxed loads; the worker never waits for them.
#include <rte_cycles.h>

#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/stage.h"

namespace bfly::dataplane {

LinkCounters Stage::counters(uint32_t link, double ns_per_tick) const {
  LinkCounters counters = SingleCounters(link, ns_per_tick);
  for (const FusedPart& part : fused_) {
    const LinkCount more = part.stages->Carried(part.position, link);
    counters.packets += more.packets;
    counters.bytes += more.bytes;
  }
  return counters;
}

void Stage::AppendCounters(double ns_per_tick, FusedReadings& readings,
                           std::vector<LinkCounters>& links) const {
  const size_t first = links.size();
  for (uint32_t i = 0; i < links_; ++i) {
    links.push_back(SingleCounters(first_link_ + i, ns_per_tick));
  }
  for (const FusedPart& part : fused_) {
    const std::vector<LinkCount>& reading = readings.Of(*part.stages);
    for (uint32_t i = 0; i < links_; ++i) {
      const LinkCount more = part.stages->Carried(part.position, first_link_ + i, reading);
      links[first + i].packets += more.packets;
      links[first + i].bytes += more.bytes;
    }
    if (part.position + 1 == part.stages->stages()) readings.Forget(*part.stages);
  }
}

LinkCounters Stage::SingleCounters(uint32_t link, double ns_per_tick) const {
  const LinkHot& hot = this->hot(link);
  const LinkCold& cold = this->cold(link);
  LinkCounters counters;
  counters.packets = hot.packets.load(std::memory_order_relaxed);
  counters.bytes = hot.bytes.load(std::memory_order_relaxed);
  counters.occupancy = cold.occupancy.load(std::memory_order_relaxed);
  counters.occupancy_peak = cold.peak.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kQueueFull)] =
      cold.queue_full.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kLinkDown)] =
      cold.link_down.load(std::memory_order_relaxed);
  const TimedLinks* const timed = timed_counters();
  if (timed == nullptr) return counters;
  const TimedCounters& more = timed->counters(link);
  counters.drops[static_cast<int>(DropReason::kLoss)] = more.lost.load(std::memory_order_relaxed);
  counters.drops[static_cast<int>(DropReason::kQueueMemory)] =
      more.no_memory.load(std::memory_order_relaxed);
  counters.busy_ns =
      static_cast<uint64_t>(static_cast<double>(more.BusyBy(rte_rdtsc())) * ns_per_tick);
  return counters;
}

void Stage::ReadFigures(LinkFigure figure, uint32_t first, double ns_per_tick,
                        std::span<uint64_t> values) const {
  const auto each = [first, values](auto read) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = read(first + static_cast<uint32_t>(i));
  };
  // Nearly all links of a large network take no time.
  const bool timed = timed_counters() != nullptr;
  const auto now = std::memory_order_relaxed;
  const auto fused = [this](uint32_t link) {
    LinkCount sum;
    for (const FusedPart& part : fused_) {
      const LinkCount more = part.stages->Carried(part.position, link);
      sum.packets += more.packets;
      sum.bytes += more.bytes;
    }
    return sum;
  };
  switch (figure) {
    case LinkFigure::kPackets:
      return each(
          [&](uint32_t link) { return hot_[link].packets.load(now) + fused(link).packets; });
    case LinkFigure::kBytes:
      return each([&](uint32_t link) { return hot_[link].bytes.load(now) + fused(link).bytes; });
    case LinkFigure::kOccupancy:
      return each([&](uint32_t link) { return uint64_t{cold_[link].occupancy.load(now)}; });
    case LinkFigure::kOccupancyPeak:
      return each([&](uint32_t link) { return uint64_t{cold_[link].peak.load(now)}; });
    case LinkFigure::kDrops:
      return each([&](uint32_t link) {
        if (timed) return FigureOf(counters(link, ns_per_tick), figure);
        return cold_[link].queue_full.load(now) + cold_[link].link_down.load(now);
      });
    case LinkFigure::kBusy:
      return each(
          [&](uint32_t link) { return timed ? counters(link, ns_per_tick).busy_ns : uint64_t{0}; });
    case LinkFigure::kUse:
      return each([&](uint32_t link) {
        if (timed) return FigureOf(counters(link, ns_per_tick), figure);
        const LinkCold& cold = cold_[link];
        return hot_[link].packets.load(now) | fused(link).packets | cold.peak.load(now) |
               cold.queue_full.load(now) | cold.link_down.load(now);
      });
  }
}

}  // namespace bfly::dataplane
