// SPDX-License-Identifier: Apache-2.0
// Consecutive stages that packets cross in one step. If nodes have one port per direction, and all
// links are up and take no time, the row in which a packet begins and its next k routing bits
// determine all k links that it crosses. So one counter at (row, k bits) stands for k counters of
// links, and one formula or table gives the row behind the k-th stage. The count of a link is a sum
// of these counters. A reader computes the sum; the worker never does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/row_range.h"
#include "dataplane/stages/stage.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct LinkCount {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

// How many stages of the network are crossed in one step, at most. 1: each stage is crossed by
// itself.
int MostFused(const Network& network);

class FusedStages {
 public:
  static constexpr int kMost = 4;

  // `stages` are the blocks `rows` of 2..kMost consecutive stages from `first_stage` on, on a
  // network with one port per direction. The links of every stage except the last lead only to
  // these rows, and no other links lead there. The blocks must outlive the object.
  FusedStages(const Network& network, int first_stage, std::vector<Stage*> stages, RowRange rows);

  int stages() const { return size_; }
  // The memory in bytes that fused stages take for each of their stages, at most.
  static uint64_t BytesPerStage(const Network& network);

  // Worker: whether packets may cross now. If not, each stage is crossed by itself (Stage::Cross).
  bool plain() const {
    for (const Stage* stage : stages_) {
      if (!stage->plain()) return false;
    }
    return true;
  }
  // Worker: carries packets over all stages: counts, shifts the tags, sets the rows.
  void Cross(Descriptor* burst, int count) { (this->*cross_)(burst, count); }

  // Any thread: counts the packets that crossed `link` of stage number `position` in one step, not
  // those that the stage itself counted. The count is never less than that of an earlier call.
  LinkCount Carried(int position, uint32_t link) const;
  // The same count at the time of a Read.
  LinkCount Carried(int position, uint32_t link, const std::vector<LinkCount>& reading) const;
  // Any thread. In the reading a packet is counted either at all of its links or at none.
  std::vector<LinkCount> Read() const;

 private:
  using CrossFunction = void (FusedStages::*)(Descriptor*, int);
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  // kTable: a stage is wired by a table. kFar: the counters do not fit a cache.
  template <int kStages, bool kTable, bool kFar>
  void CrossAs(Descriptor* burst, int count);
  template <bool kTable, bool kFar>
  static CrossFunction CrossOf(int stages);
  template <typename Visit>
  void ForEachKey(int position, uint32_t link, Visit&& visit) const;
  template <typename Visit>
  void ForEachWayTo(int level, Row row, uint32_t bits, Visit& visit) const;
  static std::vector<uint32_t> FeedersOf(const Network& network, int stage, RowRange rows);
  size_t keys() const { return size_t{rows_} << size_; }

  const int size_;
  const Row first_row_;
  const uint32_t rows_;
  const std::vector<Stage*> stages_;
  CrossFunction cross_;
  // If all stages are wired by address bits: a packet keeps these bits of its row, and gets the
  // bits that its routing bits stand for.
  Row kept_ = 0;
  Row set_[1 << kMost] = {};
  std::vector<Row> next_row_;  // for each key, if a stage is wired by a table; otherwise empty
  // How the stages except the last are wired, from head to tail.
  struct Level {
    Row mask;                       // the address bit that the stage sets
    std::vector<uint32_t> feeders;  // the two links into row first_row_ + i stand at 2i and 2i + 1;
                                    // empty if the stage is not wired by a table
  };
  std::vector<Level> behind_;
  // One for each key = (row - first_row_) << size_ | the next size_ routing bits, first hop
  // highest. Worker: writes, readers: relaxed loads.
  std::unique_ptr<LinkHot[], Free> counts_;
};

// Copies of the counts of fused stages. The counts are copied once for all stages that are crossed
// in one step.
class FusedReadings {
 public:
  const std::vector<LinkCount>& Of(const FusedStages& stages) {
    const auto [reading, is_new] = readings_.try_emplace(&stages);
    if (is_new) reading->second = stages.Read();
    return reading->second;
  }
  // Frees the copy.
  void Forget(const FusedStages& stages) { readings_.erase(&stages); }

 private:
  std::map<const FusedStages*, std::vector<LinkCount>> readings_;
};

}  // namespace bfly::dataplane
