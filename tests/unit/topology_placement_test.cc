// SPDX-License-Identifier: Apache-2.0
// Which lcore runs which rows of which stages: the refused placements, and the default placement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/spread_rows.h"
#include "control/topology_file/to_fabric_config.h"
#include "tests/unit/topology_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Placement, NamesStagesPlacedTwiceAndNowhere) {
  v1::Topology topology = Butterfly8();
  Place(topology, "0-1", "");
  Place(topology, "1", "");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("placement[1].stages: stage 1 is placed twice, first by placement[0].stages "
                  "(allowed: every stage exactly once)",
                  "placement: stage 2 is placed nowhere (allowed: every stage from 0 to 2 "
                  "exactly once)"));
  topology.mutable_placement(1)->set_stages("2-3");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("placement[1].stages: 3 is not a stage of this network (allowed: 0 to 2)"));
}

// The stages of this entry, written out, are 300 * 39, and each would have its own 10,000 rows.
TEST(Placement, NamesStagesListedTwiceInAnEntryAtOnce) {
  v1::Topology topology = Butterfly8();
  topology.mutable_network()->set_kind(v1::BENES);
  topology.mutable_network()->set_rows(1 << 20);
  std::string stages = "0-38", rows = "0";
  for (int i = 1; i < 300; ++i) stages += ",0-38";
  for (int row = 2; row < 20'000; row += 2) absl::StrAppend(&rows, ",", row);
  Place(topology, stages, "");
  topology.mutable_placement(0)->set_rows(rows);
  const std::clock_t began = std::clock();
  EXPECT_THAT(Wrong(topology), ElementsAre("placement[0].stages: stage 0 is listed twice"));
  EXPECT_LT(std::clock() - began, CLOCKS_PER_SEC);
}

TEST(Placement, NamesOnlySomeRowsIfThereAreMany) {
  v1::Topology topology = Butterfly8();
  topology.mutable_network()->set_rows(64);
  Place(topology, "0-5", "");
  Place(topology, "0-5", "");
  std::string even;
  for (int row = 0; row < 64; row += 2) absl::StrAppend(&even, row == 0 ? "" : ",", row);
  topology.mutable_placement(0)->set_rows(even);
  topology.mutable_placement(1)->set_rows("0-63");
  EXPECT_THAT(Wrong(topology),
              testing::Contains("placement[1].rows: rows 0,2,4,6,8,10,12,14,... (32 ranges) of "
                                "stages 0-5 are placed twice, first by placement[0] (allowed: "
                                "every row of a stage exactly once)"));
}

TEST(Placement, NamesRowsPlacedTwiceNowhereAndOutside) {
  v1::Topology topology = Butterfly8();
  Place(topology, "0-2", "");
  Place(topology, "0-2", "");
  topology.mutable_placement(0)->set_rows("0-3");
  topology.mutable_placement(1)->set_rows("6,4-5,7");
  EXPECT_THAT(Wrong(topology), IsEmpty());
  topology.mutable_placement(1)->set_rows("3-7");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("placement[1].rows: row 3 of stages 0-2 is placed twice, first by placement[0] "
                  "(allowed: every row of a stage exactly once)"));
  topology.mutable_placement(1)->set_rows("");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre(
          "placement[1].rows: rows 0-3 of stages 0-2 are placed twice, first by placement[0] "
          "(allowed: every row of a stage exactly once)"));
  topology.mutable_placement(1)->set_rows("5-6");
  topology.mutable_placement(0)->set_stages("0");
  EXPECT_THAT(
      Wrong(topology),
      ElementsAre("placement: rows 0-4,7 of stages 1-2 are placed nowhere (allowed: every row "
                  "from 0 to 7 of a stage exactly once)",
                  "placement: rows 4,7 of stage 0 are placed nowhere (allowed: every row from "
                  "0 to 7 of a stage exactly once)"));
  topology.mutable_placement(1)->set_rows("4-8");
  EXPECT_THAT(Wrong(topology),
              ElementsAre(testing::HasSubstr("placement[1].rows: row 8 is outside 0..7")));
  topology.mutable_placement(1)->set_rows("4 to 7");
  EXPECT_THAT(Wrong(topology),
              ElementsAre(testing::HasSubstr("placement[1].rows: \"4 to 7\" is not a range")));
}

TEST(Placement, WantsAllRowsOfAStageOnOneDataPlane) {
  v1::Topology topology = Split();
  topology.mutable_placement(0)->set_rows("0-3");
  v1::StagePlacement* const other = topology.add_placement();
  *other = topology.placement(0);
  other->set_rows("4-7");
  EXPECT_THAT(Wrong(topology), IsEmpty());
  other->set_data_plane("b");
  EXPECT_THAT(Wrong(topology), ElementsAre(testing::HasSubstr("placement[2].data_plane: stage")));
}

TEST(Placement, RequiresAPlacementForSeveralDataPlanes) {
  v1::Topology topology = Split();
  topology.clear_placement();
  EXPECT_THAT(Wrong(topology),
              ElementsAre("placement: is missing, there are 2 data planes (allowed: every stage "
                          "placed on one of a, b)"));
}

TEST(Placement, KeepsQuietAboutWhatFollowsFromAnUnreadableEntry) {
  v1::Topology topology = Butterfly8();
  Place(topology, "0", "");
  Place(topology, "one to two", "");
  EXPECT_EQ(Wrong(topology).size(), 1u);
}

TEST(Placement, RowsOfAnEntryBecomeBlocks) {
  v1::Topology topology = Butterfly8();
  Place(topology, "0-2", "dp0");
  Place(topology, "0-2", "dp0");
  topology.mutable_placement(0)->set_rows("0-1,6-7");
  topology.mutable_placement(1)->set_rows("2-5");
  topology.mutable_placement(1)->set_lcore(3);
  CompleteTopology(&topology);
  const absl::StatusOr<dataplane::FabricConfig> config = ToFabricConfig(topology, "dp0");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->placement.size(), 3u);
  const dataplane::RowRange expected[3] = {{0, 1}, {2, 5}, {6, 7}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(config->placement[i].rows, expected[i]);
    EXPECT_EQ(config->placement[i].lcore, i == 1 ? 3 : 0);
    EXPECT_EQ(config->placement[i].last_stage, 2);
  }
}

TEST(Placement, ThatIsLeftOutSpreadsRowsOverCpus) {
  constexpr char kNoPlacement[] = "name: a\nnetwork: {kind: butterfly, rows: 8}\n";
  absl::StatusOr<v1::Topology> topology = ReadTopology(kNoPlacement, "a.yaml");
  ASSERT_TRUE(topology.ok()) << topology.status();
  // Three CPUs give two parts, because the network is cut by leading bits.
  EXPECT_THAT(SpreadRows({1, 4, 5}, &*topology), ElementsAre(1, 4));
  ASSERT_EQ(topology->placement_size(), 2);
  EXPECT_EQ(topology->placement(0).rows(), "0-3");
  EXPECT_EQ(topology->placement(0).lcore(), 1u);
  EXPECT_EQ(topology->placement(1).stages(), "0-2");
  EXPECT_EQ(topology->placement(1).rows(), "4-7");
  EXPECT_EQ(topology->placement(1).lcore(), 4u);
  EXPECT_THAT(Wrong(*topology), IsEmpty());
  EXPECT_THAT(SpreadRows({0}, &*topology), IsEmpty()) << "there is a placement";
  topology->clear_placement();
  EXPECT_THAT(SpreadRows({2}, &*topology), ElementsAre(2));
  EXPECT_EQ(topology->placement(0).rows(), "");
}

}  // namespace
}  // namespace bfly::control
