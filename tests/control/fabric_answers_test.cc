// SPDX-License-Identifier: Apache-2.0
#include "dataplane/telemetry_socket/fabric_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/control/fake_fabric.h"

namespace bfly::control {
namespace {

using dataplane::FabricAnswer;
using dataplane::FigureList;
using testing::SizeIs;

// What DPDK 22.11 puts into one message (MAX_OUTPUT_LEN of its library of telemetry).
constexpr size_t kMessageBytes = 16 * 1024;

// Stages 2 to 6 of ten. Of 32 rows with two links each, link i counted from stage 2 on
// carried i packets.
class FabricAnswersTest : public testing::Test {
 protected:
  FabricAnswersTest() {
    dataplane::FabricConfig config;
    config.network = {.kind = NetworkKind::kTwoFoldButterfly, .rows = 32};
    config.placement = {{.first_stage = 2, .last_stage = 6, .lcore = 0}};
    fabric_ = std::make_unique<FakeFabric>(board_, "dp", config);
    figures().links.resize(5 * 64);
    for (size_t i = 0; i < figures().links.size(); ++i) figures().links[i].packets = i;
  }

  dataplane::Snapshot& figures() { return board_.figures["dp"]; }

  absl::StatusOr<FabricAnswer> Ask(const std::string& path, const std::string& parameters) {
    for (const dataplane::FabricCommand& command : dataplane::FabricCommands())
      if (path == command.path) return command.answer(*fabric_, parameters);
    return absl::NotFoundError(path);
  }

  static uint64_t Number(const FigureList& figures, const std::string& name) {
    for (const auto& [key, value] : figures)
      if (key == name) return std::get<uint64_t>(value);
    ADD_FAILURE() << "no figure " << name;
    return 0;
  }

  FakeBoard board_;
  std::unique_ptr<FakeFabric> fabric_;
};

TEST_F(FabricAnswersTest, LinksComeInPiecesThatJoin) {
  const FabricAnswer first = *Ask("/bfly/links", "3");
  ASSERT_THAT(first.items, SizeIs(32));
  EXPECT_EQ(first.next, 32u);
  EXPECT_EQ(Number(first.items[5], "packets"), 64 + 5u);
  EXPECT_EQ(Number(first.items[5], "row"), 2u);  // two links a row
  EXPECT_EQ(Number(first.items[5], "port"), 1u);
  const FabricAnswer second = *Ask("/bfly/links", "3,32");
  EXPECT_EQ(second.first, 32u);
  ASSERT_THAT(second.items, SizeIs(32));
  EXPECT_EQ(second.next, std::nullopt);
  EXPECT_EQ(Number(second.items[31], "packets"), 64 + 63u);
  EXPECT_THAT(Ask("/bfly/links", "3,64")->items, SizeIs(0));
}

TEST_F(FabricAnswersTest, AStageIsTheSumOfItsLinks) {
  figures().links[64 + 7].occupancy_peak = 9;
  figures().links[64 + 8].occupancy_peak = 4;
  const FabricAnswer answer = *Ask("/bfly/stages", "");
  EXPECT_EQ(answer.first, 2u);
  ASSERT_THAT(answer.items, SizeIs(5));
  EXPECT_EQ(answer.next, std::nullopt);
  EXPECT_EQ(Number(answer.items[1], "stage"), 3u);
  EXPECT_EQ(Number(answer.items[1], "packets"), 64u * 64 + 63 * 64 / 2);
  EXPECT_EQ(Number(answer.items[1], "queue_peak"), 9u);
  EXPECT_THAT(Ask("/bfly/stages", "6")->items, SizeIs(1));
}

TEST_F(FabricAnswersTest, StagesOfOtherDataPlanesAreRefused) {
  EXPECT_EQ(Ask("/bfly/links", "1").status().message(),
            "stage 1 is outside 2..6, the stages that run here");
  EXPECT_EQ(Ask("/bfly/links", "7").status().message(),
            "stage 7 is outside 2..6, the stages that run here");
}

// The bytes of the items as JSON: a number, quotes, colons and commas around each.
size_t BytesOf(const FabricAnswer& answer) {
  size_t bytes = 200;
  for (const FigureList& item : answer.items) {
    bytes += 30;
    for (const auto& [name, value] : item)
      bytes += name.size() + 8 + (std::holds_alternative<uint64_t>(value) ? 20 : 100);
  }
  return bytes;
}

TEST_F(FabricAnswersTest, NoAnswerIsLargerThanAMessage) {
  figures().workers.resize(200);
  figures().ports.resize(200);
  for (const dataplane::FabricCommand& command : dataplane::FabricCommands()) {
    const absl::StatusOr<FabricAnswer> answer =
        command.answer(*fabric_, std::string(command.path) == "/bfly/links" ? "2" : "");
    ASSERT_TRUE(answer.ok()) << command.path;
    EXPECT_LT(BytesOf(*answer), kMessageBytes) << command.path;
    EXPECT_LE(std::string(command.help).size(), 100u) << command.path;
  }
  EXPECT_EQ(Ask("/bfly/workers", "")->next, 24u);
  EXPECT_EQ(Ask("/bfly/workers", "192")->items.size(), 8u);
  // 48 stages of seven figures are more than the network of this test has.
  FabricAnswer stages = *Ask("/bfly/stages", "");
  stages.items.resize(dataplane::kStagesOfAnswer, stages.items.front());
  EXPECT_LT(BytesOf(stages), kMessageBytes);
}

}  // namespace
}  // namespace bfly::control
