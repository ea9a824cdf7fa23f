// SPDX-License-Identifier: Apache-2.0
// The stages of a loaded fabric: their counters, and what their links are like.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/core/config.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"
#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

class LoadedStages {
 public:
  // Makes the blocks of all stages and gives each to its worker. All four outlive the object.
  LoadedStages(const FabricConfig& config, const Network& network, const FabricPlan& plan,
               const Workers& workers);

  // The block of a stage that has the row.
  Stage& of(int stage, Row row);

  // Control: builds what the plan needs and asks the workers of stages that change to take it up.
  // `taken_up` is over when they have; what they used before is left to `retired`.
  void Offer(const LinkPlan& links, GracePeriod& taken_up, Retired& retired);
  void SetLinkUp(LinkId link, bool up);

  // Control: records the time that packets spend on the links from now on, or ends it. Returns for
  // each stage the histograms of its blocks; workers may use them until they have begun another
  // pass after the recording was ended.
  using Histograms = std::vector<std::vector<std::unique_ptr<LatencyHistogram>>>;
  Histograms RecordLatency(bool on);

  // Any thread: appends the links' counters in the network's order.
  void Read(std::vector<LinkCounters>& links) const;
  // The same of one link, and one figure of links that are all of one stage.
  LinkCounters ReadLink(uint64_t index) const;
  void ReadFigures(LinkFigure figure, uint64_t first, std::span<uint64_t> values) const;

 private:
  struct Block {
    std::unique_ptr<Stage> stage;
    BlockPlan plan;
    std::unique_ptr<TimedLinks> timed = nullptr;  // packets on links, where these ever took time
    LatencyHistogram* latency = nullptr;          // where that time is recorded
  };
  struct LoadedStage {
    int number;
    std::vector<Block> blocks;                           // by row
    std::shared_ptr<const ShapeTable> shapes = nullptr;  // of the latest plan
  };

  // The block of a stage that has the link.
  const Stage& BlockOf(uint64_t stage, uint64_t link) const;
  TimedLinks* TimedLinksOf(int stage, Block& block);

  const FabricConfig& config_;
  const Network& network_;
  const FabricPlan& plan_;
  const Workers& workers_;
  std::vector<LoadedStage> stages_;                   // first_stage..last_stage
  std::vector<std::unique_ptr<PacketStore>> stores_;  // by worker, null where no link took time
};

}  // namespace bfly::dataplane
