// SPDX-License-Identifier: Apache-2.0
// The top links of two data planes together, against a sort of all links.
#include <map>

#include "tests/control/links_fixture.h"

namespace bfly::control {
namespace {

using dataplane::LinkFigure;

class LinkTopTest : public LinksFixture {
 protected:
  // Counters are small numbers, so ties within a data plane and over both are the rule.
  void CompareWithASort(int trials) {
    static const std::map<v1::CounterFilter::Figure, LinkFigure> figures = {
        {v1::CounterFilter::FIGURE_UNSPECIFIED, LinkFigure::kPackets},
        {v1::CounterFilter::PACKETS, LinkFigure::kPackets},
        {v1::CounterFilter::BYTES, LinkFigure::kBytes},
        {v1::CounterFilter::OCCUPANCY, LinkFigure::kOccupancy},
        {v1::CounterFilter::OCCUPANCY_PEAK, LinkFigure::kOccupancyPeak},
        {v1::CounterFilter::DROPS, LinkFigure::kDrops},
        {v1::CounterFilter::BUSY, LinkFigure::kBusy}};
    const std::vector<uint32_t> circuits = CircuitsOnLinks();
    for (int trial = 0; trial < trials; ++trial) {
      v1::GetCountersRequest request;
      v1::CounterFilter& filter = *request.mutable_filter();
      filter = RandomFilter();
      filter.set_top(1 + random_() % (kLinks + 20));
      const bool by_circuits = random_() % 2 == 0;
      if (!by_circuits) {
        filter.set_by(static_cast<v1::CounterFilter::Figure>(1 + random_() % 6));
        filter.set_nonzero(false);
      }
      std::vector<uint64_t> expected = Chosen(filter, circuits);
      const auto first = [&](uint64_t index) {
        return std::tuple(by_circuits ? circuits[index] : 0,
                          dataplane::FigureOf(links_[index], figures.at(filter.by())));
      };
      std::stable_sort(expected.begin(), expected.end(),
                       [&](uint64_t a, uint64_t b) { return first(a) > first(b); });
      if (expected.size() > filter.top()) expected.resize(filter.top());

      const absl::StatusOr<v1::Counters> counters = Get(request);
      ASSERT_TRUE(counters.ok()) << counters.status();
      EXPECT_EQ(IndexesOf(*counters), expected) << filter.ShortDebugString();
      ExpectFigures(*counters, circuits);
      EXPECT_FALSE(counters->has_next_page_token());
    }
  }
};

TEST_F(LinkTopTest, WithoutCircuitsItIsTheSortByPackets) {
  Start(/*circuits=*/0);
  CompareWithASort(150);
}

TEST_F(LinkTopTest, WithFewCircuitsItIsTheSort) {
  Start(/*circuits=*/3);
  CompareWithASort(150);
}

TEST_F(LinkTopTest, WithManyCircuitsItIsTheSort) {
  Start(/*circuits=*/16);
  CompareWithASort(150);
}

// More links have the same number of circuits than one request can name.
TEST_F(LinkTopTest, OfManyLinksWithAsManyCircuitsThoseWithMostPacketsComeFirst) {
  constexpr uint32_t kMany = 8192;
  dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path());
  v1::Topology topology = SmallTopology(/*split=*/false, kMany);
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_placement(0)->set_stages("0-12");
  ASSERT_TRUE(Load(*controller_, topology).ok());
  // Straight ahead: 13 * 8192 links have one circuit each, as many have none.
  v1::SetUpBatchRequest batch;
  batch.set_all_or_nothing(true);
  for (uint32_t row = 0; row < kMany; ++row) {
    batch.add_requests()->set_input(row);
    batch.mutable_requests()->rbegin()->set_output(row);
  }
  const auto set_up = Call(*controller_->circuits, &v1::Circuits::Stub::SetUpBatch, batch);
  ASSERT_TRUE(set_up.ok()) << set_up.status();
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = kMany});
  {
    const std::lock_guard lock(board_.mutex);
    std::vector<dataplane::LinkCounters>& links = board_.figures["dp0"].links;
    links.resize(network.link_count());
    // At stage 3 port 0 leads row 0 straight on and port 1 across.
    links[network.link_index({3, 0, 0})].packets = 7;
    links[network.link_index({3, 0, 1})].packets = 1000;
    links[network.link_index({12, 8190, 0})].packets = 9;
  }
  v1::GetCountersRequest request;
  request.mutable_filter()->set_top(4);
  const absl::StatusOr<v1::Counters> counters = Get(request);
  ASSERT_TRUE(counters.ok()) << counters.status();
  ASSERT_EQ(counters->links_size(), 4);
  for (const v1::LinkCounters& link : counters->links()) EXPECT_EQ(link.circuits(), 1u);
  EXPECT_EQ(counters->links(0).row(), 8190u);
  EXPECT_EQ(counters->links(0).packets(), 9u);
  EXPECT_EQ(counters->links(1).stage(), 3u);
  EXPECT_EQ(counters->links(1).packets(), 7u);
  // Then come the links of the lowest stage and row.
  for (int i : {2, 3}) {
    EXPECT_EQ(counters->links(i).stage(), 0u);
    EXPECT_EQ(counters->links(i).row(), static_cast<uint32_t>(i - 2));
    EXPECT_EQ(counters->links(i).next_row(), counters->links(i).row());
  }
}

}  // namespace
}  // namespace bfly::control
