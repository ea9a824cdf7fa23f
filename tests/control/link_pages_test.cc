// SPDX-License-Identifier: Apache-2.0
// Counters in pages: all pages together equal one answer, and wrong requests are refused by field.
#include "control/controller/agent_answers.h"
#include "tests/control/links_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using LinkPagesTest = LinksFixture;

TEST_F(LinkPagesTest, PagesTogetherAreTheLinksOfTheFilter) {
  for (const int circuits : {0, 2, 16}) {
    dp0_.reset();
    dp1_.reset();
    controller_.reset();
    Start(circuits);
    const std::vector<uint32_t> on_links = CircuitsOnLinks();
    for (int trial = 0; trial < 60; ++trial) {
      v1::GetCountersRequest request;
      *request.mutable_filter() = RandomFilter();
      const std::vector<uint64_t> expected = Chosen(request.filter(), on_links);
      const absl::StatusOr<v1::Counters> whole = Get(request);
      ASSERT_TRUE(whole.ok()) << whole.status();
      EXPECT_EQ(IndexesOf(*whole), expected) << request.ShortDebugString();
      EXPECT_FALSE(whole->has_next_page_token());
      ExpectFigures(*whole, on_links);

      // Among the sizes are those that the last page fills exactly.
      request.set_page_size(trial % 3 == 0 ? std::max<uint32_t>(1, expected.size())
                                           : 1 + random_() % 40);
      std::vector<uint64_t> found;
      for (bool more = true; more;) {
        const absl::StatusOr<v1::Counters> page = Get(request);
        ASSERT_TRUE(page.ok()) << page.status();
        EXPECT_LE(page->links_size(), static_cast<int>(request.page_size()));
        for (const uint64_t index : IndexesOf(*page)) found.push_back(index);
        more = page->has_next_page_token();
        request.set_page_token(page->next_page_token());
      }
      EXPECT_EQ(found, expected) << request.ShortDebugString();
    }
  }
}

TEST_F(LinkPagesTest, APageThatIsFullSaysWhetherOneFollows) {
  Start(/*circuits=*/0);
  v1::GetCountersRequest request;
  request.set_page_size(kLinks / 2);
  absl::StatusOr<v1::Counters> page = Get(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->links_size(), static_cast<int>(kLinks / 2));
  EXPECT_EQ(page->next_page_token(), std::to_string(kLinks / 2));
  request.set_page_token(page->next_page_token());
  page = Get(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->links_size(), static_cast<int>(kLinks / 2));
  EXPECT_FALSE(page->has_next_page_token());
}

TEST_F(LinkPagesTest, WrongRequestsAreRefusedByField) {
  Start(/*circuits=*/0);
  v1::GetCountersRequest wrong;
  wrong.set_page_size(32'769);
  wrong.set_page_token("256");
  wrong.mutable_filter()->set_top(65'537);
  wrong.mutable_filter()->add_stage_ranges()->set_last(8);
  wrong.mutable_filter()->add_row_ranges()->set_first(3);
  wrong.mutable_filter()->add_ports(2);
  absl::Status status = Get(wrong).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("filter.stage_ranges[0].last",
                                            "filter.row_ranges[0].first", "filter.ports[0]",
                                            "filter.top", "page_size", "page_token", "page_token"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("65537 is outside 0..65536"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("32769 is outside 0..32768"));

  for (const std::string token : {"x", "-1", "99999999999999999999"}) {
    v1::GetCountersRequest request;
    request.set_page_size(1);
    request.set_page_token(token);
    EXPECT_THAT(FieldsOf(Get(request).status()), ElementsAre("page_token")) << token;
  }
  v1::GetCountersRequest request;
  request.set_page_token("5");
  EXPECT_THAT(FieldsOf(Get(request).status()), ElementsAre("page_size"));
  request.Clear();
  request.mutable_filter()->set_by(v1::CounterFilter::DROPS);
  EXPECT_THAT(FieldsOf(Get(request).status()), ElementsAre("filter.by"));
  request.mutable_filter()->set_top(1);
  request.mutable_filter()->set_by(static_cast<v1::CounterFilter::Figure>(99));
  EXPECT_THAT(FieldsOf(Get(request).status()), ElementsAre("filter.by"));
}

TEST_F(LinkPagesTest, OneAnswerHoldsNoMoreThanItsLimitAndPagesHoldAll) {
  dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path());
  // 425,984 links.
  ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/false, 8192)).ok());
  v1::GetCountersRequest request;
  const absl::Status status = Get(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(FieldsOf(status), ElementsAre("page_size"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("425984 links"));
  request.mutable_filter()->set_nonzero(true);
  EXPECT_TRUE(Get(request).ok()) << "none of them ever carried a packet";
  request.Clear();
  request.set_page_size(32'768);
  request.mutable_filter()->add_ports(1);
  int links = 0, pages = 0;
  for (bool more = true; more; ++pages) {
    const absl::StatusOr<v1::Counters> page = Get(request);
    ASSERT_TRUE(page.ok()) << page.status();
    links += page->links_size();
    more = page->has_next_page_token();
    request.set_page_token(page->next_page_token());
  }
  EXPECT_EQ(links, 425'984 / 2);
  EXPECT_LE(pages, 14);
}

TEST_F(LinkPagesTest, PicturesOfAllLinksAreTakenOfSmallNetworksOnly) {
  dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path());
  // 2,097,152 links.
  v1::Topology topology = SmallTopology(/*split=*/false, 65'536);
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_placement(0)->set_stages("0-15");
  ASSERT_TRUE(Load(*controller_, topology).ok());
  v1::SubscribeRequest request;
  request.set_mode(v1::SubscribeRequest::SAMPLE);
  request.set_interval_ms(10);
  request.mutable_filter()->set_summary(true);
  grpc::ClientContext cheap_context, context;
  SetDeadline(cheap_context);
  SetDeadline(context);
  const auto cheap = controller_->telemetry->Subscribe(&cheap_context, request);
  v1::Counters counters;
  EXPECT_TRUE(cheap->Read(&counters));
  request.mutable_filter()->set_summary(false);
  const auto refused = controller_->telemetry->Subscribe(&context, request);
  EXPECT_FALSE(refused->Read(&counters));
  const absl::Status status = FromGrpc(refused->Finish());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("2097152 links"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cheap->Read(&counters)) << "others go on";
  cheap_context.TryCancel();
  while (cheap->Read(&counters)) {
  }
  cheap->Finish();
}

TEST_F(LinkPagesTest, AnAnswerThatCannotBeTrueIsNotBelieved) {
  v1::AgentReadLinksRequest request;
  request.set_most(2);
  const auto problem = [&](const v1::AgentLinkReading& reading) {
    return std::string(CheckAnswer(reading, request, network_).message());
  };
  v1::AgentLinkReading reading;
  for (const uint64_t index : {7, 9}) {
    reading.add_links(index);
    reading.add_packets(1);
    reading.add_bytes(1);
    reading.add_occupancy(1);
    reading.add_occupancy_peak(1);
  }
  EXPECT_EQ(problem(reading), "");
  reading.add_busy_ns(1);
  EXPECT_THAT(problem(reading), HasSubstr("busy_ns: has 1 entries for 2 links"));
  reading.clear_busy_ns();
  reading.add_link_drops()->set_link(2);
  EXPECT_THAT(problem(reading), HasSubstr("link_drops[0].link: 2 is outside 0..1"));
  reading.clear_link_drops();
  reading.set_links(1, 7);
  EXPECT_THAT(problem(reading), HasSubstr("links[1]: 7 comes after 7"));
  reading.set_links(1, kLinks);
  EXPECT_THAT(problem(reading), HasSubstr("links[1]: 256 is outside 0..255"));
  reading.add_links(300);
  EXPECT_THAT(problem(reading), HasSubstr("links: has 3 entries, at most 2 were asked for"));
}

}  // namespace
}  // namespace bfly::control
