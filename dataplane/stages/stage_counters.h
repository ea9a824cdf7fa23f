// SPDX-License-Identifier: Apache-2.0
// The counts of the links of a stage. Readers read them by relaxed loads; the worker never waits
// for a reader.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/core/snapshot.h"
#include "dataplane/stages/stage.h"

namespace bfly::dataplane {

class FusedReadings;
struct LinkCount;

// For any thread. `ns_per_tick` turns TSC ticks into nanoseconds.
class StageCounters {
 public:
  // The stage must outlive the object.
  explicit StageCounters(const Stage& stage) : stage_(stage) {}

  LinkCounters Of(uint32_t link, double ns_per_tick) const;
  // Appends the counters of all links. Stages that are crossed in one step report the same packets
  // if they are read with the same `readings`.
  void Append(double ns_per_tick, FusedReadings& readings, std::vector<LinkCounters>& links) const;
  // Reads one figure of as many links as `values` has, from `first` on.
  void Read(LinkFigure figure, uint32_t first, double ns_per_tick,
            std::span<uint64_t> values) const;

 private:
  // The counts of packets that crossed this stage by itself, not in one step with other stages.
  // They include the packets that the link refused.
  LinkCounters Single(uint32_t link, double ns_per_tick) const;
  LinkCount SingleCount(uint32_t link) const;
  LinkCount FusedCount(uint32_t link) const;
  const LinkRefused* RefusedAt(uint32_t link) const;  // null: no link can refuse packets

  const Stage& stage_;
};

}  // namespace bfly::dataplane
