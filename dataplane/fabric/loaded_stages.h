// SPDX-License-Identifier: Apache-2.0
// The stages of a loaded fabric, with their counters and the shapes of their links.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/core/config.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_links.h"
#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

class LoadedStages {
 public:
  // Makes the blocks of all stages, takes the config's links down, and gives each block to its
  // worker. All four arguments must outlive the object.
  LoadedStages(const FabricConfig& config, const Network& network, const FabricPlan& plan,
               const Workers& workers);

  // The block of a stage that contains the row.
  Stage& of(int stage, Row row);
  // The blocks of `count` consecutive stages that contain the row, to be crossed in one step. Call
  // it before workers and readers start. All of these blocks have the same rows and worker.
  FusedStages* Fuse(int stage, int count, Row row);

  // Control: builds the shapes that the plan needs and offers them to the workers of stages that
  // change. `taken_up` ends when the workers use the new shapes; `retired` keeps the old shapes.
  // If the system refuses address space for packets on links, it returns ResourceExhausted and
  // changes nothing.
  absl::Status Offer(const LinkPlan& links, GracePeriod& taken_up, Retired& retired);
  void SetLinkUp(LinkId link, bool up);
  // Names links by their index in the network. Links of other stages are skipped.
  void AvoidLinks(const std::vector<uint64_t>& links);

  // Control: starts to record the time that packets spend on links, or ends it. Returns for each
  // stage the histograms of its blocks. Workers may use these until they have begun another pass
  // after the recording was ended.
  using Histograms = std::vector<std::vector<std::unique_ptr<LatencyHistogram>>>;
  Histograms RecordLatency(bool on);

  // Any thread: appends the links' counters in the network's order.
  void Read(std::vector<LinkCounters>& links) const;
  // Any thread: the counters of one link, and one figure of several links, all of one stage.
  LinkCounters ReadLink(uint64_t index) const;
  void ReadFigures(LinkFigure figure, uint64_t first, std::span<uint64_t> values) const;

 private:
  struct Block {
    std::unique_ptr<Stage> stage;
    BlockPlan plan;
    // Packets on links; null if links of the block never took time.
    std::unique_ptr<TimedLinks> timed = nullptr;
    LatencyHistogram* latency = nullptr;  // records the time that packets spend on links
  };
  struct LoadedStage {
    int number;
    std::vector<Block> blocks;                           // ordered by row
    std::shared_ptr<const ShapeTable> shapes = nullptr;  // the shapes of the latest plan
  };

  // The block of a stage that contains the link.
  const Stage& BlockOf(uint64_t stage, uint64_t link) const;
  // Makes the stores that these workers do not have yet: all of them, or none and an error.
  absl::Status MakeStores(const std::set<int>& workers);
  // The block's worker has a store.
  TimedLinks* TimedLinksOf(int stage, Block& block);

  const FabricConfig& config_;
  const Network& network_;
  const FabricPlan& plan_;
  const Workers& workers_;
  std::vector<LoadedStage> stages_;  // first_stage..last_stage
  // The key is the first stage, the number of stages and the first row.
  std::map<std::tuple<int, int, Row>, std::unique_ptr<FusedStages>> fused_;
  // One for each worker; null if no link of the worker has taken time.
  std::vector<std::unique_ptr<PacketStore>> stores_;
  std::set<uint64_t> avoided_;  // the indices of avoided links
};

}  // namespace bfly::dataplane
