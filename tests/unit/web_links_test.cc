// SPDX-License-Identifier: Apache-2.0
// What the web page is told of links whose figures are not all known, and at which address it is
// served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "control/web/answers.h"
#include "control/web/link_sample.h"
#include "control/web/query.h"
#include "control/web/web_door.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int kPacketRateColumn = 7;

// One stage of 2 rows and 2 ports; port p leads to row p.
std::shared_ptr<const Wiring> TwoRows() {
  return std::make_shared<const Wiring>(
      Wiring{.rows = 2, .stages = 1, .ports = 2, .levels = 2, .next_rows = {0, 1, 0, 1}});
}

v1::LinkCounters* Count(v1::Counters& counters, uint32_t row, uint32_t port, uint64_t packets) {
  v1::LinkCounters* link = counters.add_links();
  link->set_row(row);
  link->set_port(port);
  link->set_packets(packets);
  return link;
}

TEST(BandLink, HasTheDropsOfItsFullestLinkBesideTheSum) {
  v1::Counters counters;
  Count(counters, 0, 1, 9)->add_drops()->set_packets(3);
  Count(counters, 1, 1, 9)->add_drops()->set_packets(5);
  const FabricSample sample = SampleOf(TwoRows(), counters, {}, nullptr);
  const std::vector<BandLink> bands = Bands(sample, 1);
  ASSERT_THAT(bands, SizeIs(1));
  EXPECT_EQ(bands[0].drops, 8u);
  EXPECT_EQ(bands[0].most_drops, 5u);
  const auto table = LoadAnswer(sample, 1, LinkFigure::kDrops, 1)["links"];
  EXPECT_EQ(table["columns"].back(), "most_drops");
  EXPECT_EQ(table["rows"][0].back(), 5);
}

TEST(SampledLink, AStraightLinkOfAHypercubeHasNoCongestion) {
  v1::DescribeResponse description;
  description.set_rows(2);
  description.set_stages(1);
  EXPECT_FALSE(WiringOf(description)->straight_is_free);
  description.set_kind("hypercube");
  EXPECT_TRUE(WiringOf(description)->straight_is_free);
  const auto cube = std::make_shared<Wiring>(*TwoRows());
  cube->straight_is_free = true;
  v1::Counters counters;
  Count(counters, 1, 1, 5)->set_circuits(7);  // keeps its row
  const FabricSample straight = SampleOf(cube, counters, {}, nullptr);
  EXPECT_THAT(Hottest(straight, LinkFigure::kCircuits, 10), SizeIs(0));
  EXPECT_EQ(Bands(straight, 1)[0].most_circuits, 0u);
  EXPECT_EQ(StageLoads(straight)[0].circuits, 7u);
  Count(counters, 1, 0, 5)->set_circuits(2);
  const FabricSample both = SampleOf(cube, counters, {}, nullptr);
  const std::vector<SampledLink> hottest = Hottest(both, LinkFigure::kCircuits, 10);
  ASSERT_THAT(hottest, SizeIs(1));
  EXPECT_EQ(hottest[0].congestion, 2u);
  EXPECT_EQ(Bands(both, 1)[0].most_circuits, 2u);
  const auto table = LinksAnswer(both, both.links)["links"];
  EXPECT_EQ(table["columns"].back(), "congestion");
  EXPECT_EQ(table["rows"][3].back(), 0);
  // Elsewhere each hop counts.
  EXPECT_THAT(Hottest(SampleOf(TwoRows(), counters, {}, nullptr), LinkFigure::kCircuits, 10),
              SizeIs(2));
}

TEST(SampledLink, ARateThatIsNotKnownIsNullAndNotZero) {
  v1::Counters first, second;
  first.set_monotonic_ns(1'000'000'000);
  second.set_monotonic_ns(2'000'000'000);
  Count(first, 0, 0, 40);
  Count(second, 0, 0, 47);
  const auto rate_of = [](const FabricSample& sample, size_t link) {
    const auto table = LinksAnswer(sample, sample.links)["links"];
    EXPECT_EQ(table["columns"][kPacketRateColumn], "packet_rate");
    return table["rows"][link][kPacketRateColumn];
  };
  const FabricSample without_before = SampleOf(TwoRows(), second, {}, nullptr);
  EXPECT_TRUE(rate_of(without_before, 0).is_null());
  const Counts before = CountsOf(first, /*every_link=*/true);
  EXPECT_EQ(rate_of(SampleOf(TwoRows(), second, {}, &before), 0), 7);
  // A link that carried nothing is left out of the picture.
  EXPECT_EQ(rate_of(SampleOf(TwoRows(), second, {}, &before), 3), 0);
  second.set_links_missing(true);
  EXPECT_TRUE(rate_of(SampleOf(TwoRows(), second, {}, &before), 3).is_null());
}

// Idle links that are down are not among the fullest, which the sample of a large network has.
TEST(StageLoad, EveryLinkOfALargeNetworkThatIsDownCounts) {
  const auto wiring = std::make_shared<const Wiring>(
      Wiring{.rows = 65'536, .stages = 16, .ports = 2, .levels = 17, .next_rows = {}});
  v1::Counters counters;
  Count(counters, 70, 1, 20);
  v1::GetLinksResponse down;
  for (const uint32_t stage : {3u, 3u, 5u}) {
    v1::LinkRef* const link = down.add_down();
    link->set_stage(stage);
    link->set_row(1000 + static_cast<uint32_t>(down.down_size()));
  }
  const std::vector<StageLoad> stages = StageLoads(SampleOf(wiring, counters, down, nullptr));
  EXPECT_EQ(stages[0].packets, 20u);
  EXPECT_EQ(stages[3].down, 2u);
  EXPECT_EQ(stages[4].down, 0u);
  EXPECT_EQ(stages[5].down, 1u);
  // Which links a node takes down is not known without the wiring.
  down.add_down_nodes()->set_level(4);
  const FabricSample sample = SampleOf(wiring, counters, down, nullptr);
  EXPECT_EQ(StageLoads(sample)[3].down, std::nullopt);
  const auto table = LoadAnswer(sample, 2, LinkFigure::kPackets, 1)["stages"];
  EXPECT_EQ(table["columns"].back(), "down");
  EXPECT_TRUE(table["rows"][3].back().is_null());
}

// Both links of row 1, and the link from row 0 to row 1, which is down by itself too.
TEST(StageLoad, ALinkThatIsDownTwiceCountsOnce) {
  v1::GetLinksResponse down;
  down.add_down()->set_port(1);
  down.add_down_nodes()->set_row(1);
  v1::NodeRef* const end = down.add_down_nodes();
  end->set_level(1);
  end->set_row(1);
  const FabricSample sample = SampleOf(TwoRows(), {}, down, nullptr);
  EXPECT_EQ(StageLoads(sample)[0].down, 3u);
  EXPECT_EQ(LoadAnswer(sample, 1, LinkFigure::kPackets, 1)["stages"]["rows"][0].back(), 3);
}

TEST(WebAnswers, WhyReadingsFailIsAmongTheProblems) {
  FabricWatch::Known known;
  known.counters.add_problems("data plane dp0: it does not answer");
  EXPECT_EQ(TopologyAnswer(known)["problems"].size(), 1u);
  known.trouble = "Deadline Exceeded";
  const auto problems = TopologyAnswer(known)["problems"];
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0].get<std::string>(), HasSubstr("Deadline Exceeded"));
}

// The 4-cube has 64 links (Stamoulis & Tsitsiklis, section 1.1).
TEST(WebAnswers, LinksOfAHypercubeThatKeepTheRowAreCountedApart) {
  FabricWatch::Known known;
  known.description.set_kind("hypercube");
  known.description.set_link_count(128);
  EXPECT_EQ(TopologyAnswer(known)["link_count"], 128);
  EXPECT_EQ(TopologyAnswer(known)["free_links"], 64);
  known.description.set_kind("butterfly");
  EXPECT_EQ(TopologyAnswer(known)["free_links"], 0);
}

TEST(WebDoor, TheAddressThatIsServedIsANameOfThePage) {
  HttpRequest request;
  request.method = "GET";
  const auto refused_at = [&request](const char* address, const char* host) {
    request.host = host;
    return WebDoor("token", address).Refuse(request).has_value();
  };
  EXPECT_FALSE(refused_at("127.0.0.2:7390", "127.0.0.2:7390"));
  EXPECT_FALSE(refused_at("127.0.0.2:0", "127.0.0.2:40123"));
  EXPECT_FALSE(refused_at("127.0.0.2:7390", "localhost:7390"));
  EXPECT_TRUE(refused_at("127.0.0.2:7390", "127.0.0.3:7390"));
  EXPECT_TRUE(refused_at("127.0.0.1:7390", "127.0.0.2:7390"));
  EXPECT_TRUE(refused_at("127.0.0.2:7390", ""));
}

TEST(CircuitsOfARow, OnlyThoseThatLeadToItComeInPages) {
  HttpRequest request;
  request.query = {{"find", "5"}, {"page_token", "201"}};
  const auto wanted = CircuitsIn(request, 200);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  ASSERT_THAT(*wanted, SizeIs(2));
  EXPECT_EQ((*wanted)[0].input(), 5u);
  EXPECT_EQ((*wanted)[0].page_token(), "");
  EXPECT_EQ((*wanted)[1].output(), 5u);
  EXPECT_EQ((*wanted)[1].page_token(), "201");
}

}  // namespace
}  // namespace bfly::control
