// SPDX-License-Identifier: Apache-2.0
// What an agent tells of the stages and rows of its workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/agent/counters.h"

namespace bfly::control {
namespace {

using dataplane::StagePlacement;
using testing::ElementsAre;
using testing::IsEmpty;

v1::WorkerStatus WorkerOf(const std::vector<StagePlacement>& placement, int lcore) {
  dataplane::Snapshot snapshot;
  snapshot.workers.emplace_back().lcore = lcore;
  v1::AgentCounters counters;
  FillCounters(snapshot, placement, /*links=*/false, &counters);
  return counters.workers(0);
}

// "STAGES/ROWS" of each entry.
std::vector<std::string> PlacedOf(const v1::WorkerStatus& worker) {
  std::vector<std::string> entries;
  for (const v1::PlacedStages& placed : worker.placed())
    entries.push_back(placed.stages() + "/" + placed.rows());
  return entries;
}

TEST(WorkerStatus, HasTheRowsOfEachStage) {
  const v1::WorkerStatus worker =
      WorkerOf({{.first_stage = 0, .last_stage = 1, .lcore = 0},
                {.first_stage = 2, .last_stage = 3, .lcore = 0, .rows = {0, 7}},
                {.first_stage = 2, .last_stage = 3, .lcore = 1, .rows = {8, 15}}},
               0);
  EXPECT_THAT(worker.stages(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(worker.rows(), "") << "all, of stages 0 and 1";
  EXPECT_THAT(PlacedOf(worker), ElementsAre("0-1/", "2-3/0-7"));
}

TEST(WorkerStatus, StagesWithOtherRowsStandApart) {
  const v1::WorkerStatus worker =
      WorkerOf({{.first_stage = 0, .last_stage = 1, .lcore = 0, .rows = {0, 7}},
                {.first_stage = 2, .last_stage = 3, .lcore = 0, .rows = {8, 15}}},
               0);
  EXPECT_EQ(worker.rows(), "0-15");
  EXPECT_THAT(PlacedOf(worker), ElementsAre("0-1/0-7", "2-3/8-15"));
}

TEST(WorkerStatus, RangesOfRowsDoNotOverlapOrTouch) {
  const v1::WorkerStatus worker =
      WorkerOf({{.first_stage = 0, .last_stage = 1, .lcore = 0, .rows = {0, 7}},
                {.first_stage = 2, .last_stage = 3, .lcore = 0, .rows = {0, 3}},
                {.first_stage = 2, .last_stage = 2, .lcore = 0, .rows = {9, 9}},
                {.first_stage = 2, .last_stage = 2, .lcore = 0, .rows = {4, 5}}},
               0);
  EXPECT_EQ(worker.rows(), "0-7,9");
  EXPECT_THAT(PlacedOf(worker), ElementsAre("0-1/0-7", "2/0-5,9", "3/0-3"));
}

TEST(WorkerStatus, OfAWorkerThatOnlyPollsPortsHasNoStages) {
  const v1::WorkerStatus worker = WorkerOf({{.first_stage = 0, .last_stage = 3, .lcore = 0}}, 2);
  EXPECT_THAT(worker.stages(), IsEmpty());
  EXPECT_THAT(worker.placed(), IsEmpty());
  EXPECT_EQ(worker.rows(), "");
}

}  // namespace
}  // namespace bfly::control
