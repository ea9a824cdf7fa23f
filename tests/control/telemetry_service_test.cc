// SPDX-License-Identifier: Apache-2.0
// Counters over real gRPC: sums over data planes, filters, and clients of every speed.
#include <gmock/gmock.h>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TelemetryServiceTest : public testing::Test {
 protected:
  void Start(bool split = false, uint32_t rows = 16,
             const CounterPoll::Options& poll = PollOnlyWhenAsked()) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    if (split) {
      dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
    }
    controller_ = std::make_unique<TestController>(directory_.path(), 20, poll);
    ASSERT_TRUE(Load(*controller_, SmallTopology(split, rows)).ok());
  }
  // Sets what the link shows from now on.
  void SetPackets(LinkId link, uint64_t packets, uint32_t rows = 16) {
    const std::lock_guard lock(board_.mutex);
    std::vector<dataplane::LinkCounters>& links = board_.figures["dp0"].links;
    const size_t index = (size_t(link.stage) * rows + link.row) * 2 + link.port;
    links.resize(std::max(links.size(), index + 1));
    links[index].packets = packets;
  }
  void SetAccount(const std::string& plane, dataplane::Conservation account, uint64_t trunk_in,
                  uint64_t trunk_out) {
    const std::lock_guard lock(board_.mutex);
    board_.figures[plane].conservation = account;
    board_.figures[plane].trunk_in = trunk_in;
    board_.figures[plane].trunk_out = trunk_out;
  }
  v1::Counters Get(const v1::CounterFilter& filter = {}) {
    v1::GetCountersRequest request;
    *request.mutable_filter() = filter;
    const auto counters = Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, request);
    EXPECT_TRUE(counters.ok()) << counters.status();
    return counters.ok() ? *counters : v1::Counters();
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> dp0_;
  std::unique_ptr<TestAgent> dp1_;
  std::unique_ptr<TestController> controller_;
};

// A client of Subscribe.
class Subscriber {
 public:
  Subscriber(TestController& controller, v1::SubscribeRequest::Mode mode, uint32_t interval_ms,
             const v1::CounterFilter& filter = {}) {
    v1::SubscribeRequest request;
    request.set_mode(mode);
    request.set_interval_ms(interval_ms);
    *request.mutable_filter() = filter;
    SetDeadline(context_);
    stream_ = controller.telemetry->Subscribe(&context_, request);
  }
  ~Subscriber() {
    context_.TryCancel();
    v1::Counters rest;
    while (stream_ != nullptr && stream_->Read(&rest)) {
    }
    if (stream_ != nullptr) stream_->Finish();
  }
  v1::Counters Next() {
    v1::Counters counters;
    EXPECT_TRUE(stream_->Read(&counters));
    return counters;
  }
  absl::Status End() {
    v1::Counters rest;
    while (stream_->Read(&rest)) {
    }
    const absl::Status status = FromGrpc(stream_->Finish());
    stream_.reset();
    return status;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::Counters>> stream_;
};

TEST_F(TelemetryServiceTest, TheSumOverDataPlanesCountsWhatIsOnTheTrunkAsInFlight) {
  Start(/*split=*/true);
  // dp0: 100 + 0 = 30 + 5 + 4 + 61. dp1: 0 + 58 = 50 + 2 + 6 + 0. On the trunk: 61 - 58.
  SetAccount("dp0", {.injected = 100, .delivered = 30, .dropped = 5, .in_flight = 4}, 0, 61);
  SetAccount("dp1", {.injected = 0, .delivered = 50, .dropped = 2, .in_flight = 6}, 58, 0);
  const v1::Counters counters = Get();
  EXPECT_EQ(counters.conservation().injected(), 100u);
  EXPECT_EQ(counters.conservation().delivered(), 80u);
  EXPECT_EQ(counters.conservation().dropped(), 7u);
  EXPECT_EQ(counters.conservation().in_flight(), 13u);
  EXPECT_THAT(counters.problems(), IsEmpty());
  EXPECT_EQ(counters.links_size(), 256);
}

TEST_F(TelemetryServiceTest, AnAccountThatDoesNotBalanceIsReported) {
  Start();
  SetAccount("dp0", {.injected = 100, .delivered = 30, .dropped = 5, .in_flight = 4}, 0, 0);
  const v1::Counters counters = Get();
  ASSERT_EQ(counters.problems_size(), 1);
  EXPECT_THAT(counters.problems(0), HasSubstr("data plane dp0: injected 100"));
}

TEST_F(TelemetryServiceTest, ReceiversAreReadBeforeSenders) {
  Start(/*split=*/true);
  board_.TakeLog();
  Get();
  std::vector<std::string> reads;
  for (const std::string& line : board_.TakeLog()) {
    if (line.rfind("read", 0) == 0) reads.push_back(line);
  }
  EXPECT_THAT(reads, ElementsAre("read dp1", "read dp0"));
}

TEST_F(TelemetryServiceTest, OfADataPlaneThatIsAwayTheLastFiguresAreUsedAndItIsSaid) {
  Start(/*split=*/true);
  SetAccount("dp1", {.injected = 0, .delivered = 7, .dropped = 0, .in_flight = 0}, 7, 0);
  SetAccount("dp0", {.injected = 7, .delivered = 0, .dropped = 0, .in_flight = 0}, 0, 7);
  EXPECT_EQ(Get().conservation().delivered(), 7u);
  dp1_.reset();
  const v1::Counters counters = Get();
  EXPECT_EQ(counters.conservation().delivered(), 7u);
  ASSERT_EQ(counters.problems_size(), 2);
  EXPECT_THAT(counters.problems(0), HasSubstr("dp1"));
  EXPECT_THAT(counters.problems(0), HasSubstr("last figures"));
  EXPECT_THAT(counters.problems(1), HasSubstr("data plane dp1: its links are missing"));
}

TEST_F(TelemetryServiceTest, APictureLeavesOutTheLinksOfADataPlaneThatIsAwayWhoeverAskedLast) {
  Start(/*split=*/true);
  {
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp1"].links.assign(1, {.packets = 10});
  }
  v1::CounterFilter summary;
  summary.set_summary(true);
  for (const bool summary_was_last : {false, true}) {
    Subscriber subscriber(*controller_, v1::SubscribeRequest::ON_CHANGE, 10);
    EXPECT_EQ(subscriber.Next().links_size(), 256);
    if (summary_was_last) Get(summary);
    dp1_.reset();
    v1::Counters away = subscriber.Next();
    EXPECT_TRUE(away.links_missing());
    EXPECT_THAT(away.planes_missing(), ElementsAre("dp1"));
    EXPECT_EQ(away.links_size(), 0);  // none of dp0 has changed
    // Who comes now sees dp0 alone: stages 0 to 3.
    Subscriber late(*controller_, v1::SubscribeRequest::SAMPLE, 10);
    EXPECT_EQ(late.Next().links_size(), 4 * 16 * 2);
    dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
    while (away.links_missing()) away = subscriber.Next();
    // Nobody knows which of the links of dp1, stages 4 to 7, have changed meanwhile.
    EXPECT_EQ(away.links_size(), 4 * 16 * 2);
    EXPECT_THAT(away.planes_missing(), IsEmpty());
  }
}

TEST_F(TelemetryServiceTest, FiltersChooseStagesRowsAndWhatIsNotZero) {
  Start();
  SetPackets({2, 5, 1}, 10);
  v1::CounterFilter filter;
  filter.add_stages(2);
  filter.add_stages(3);
  EXPECT_EQ(Get(filter).links_size(), 2 * 16 * 2);
  filter.add_rows(5);
  EXPECT_EQ(Get(filter).links_size(), 2 * 2);
  filter.set_nonzero(true);
  const v1::Counters one = Get(filter);
  ASSERT_EQ(one.links_size(), 1);
  EXPECT_EQ(one.links(0).packets(), 10u);
  EXPECT_EQ(one.links(0).next_row(), 7u);  // stage 2 sets bit 2 of row 5
  v1::CounterFilter summary;
  summary.set_summary(true);
  EXPECT_EQ(Get(summary).links_size(), 0);

  v1::GetCountersRequest wrong;
  wrong.mutable_filter()->add_stages(8);
  wrong.mutable_filter()->add_rows(3);
  wrong.mutable_filter()->add_rows(16);
  const absl::Status status =
      Call(*controller_->telemetry, &v1::Telemetry::Stub::GetCounters, wrong).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("filter.stages[0]", "filter.rows[1]"));
}

TEST_F(TelemetryServiceTest, TheHottestLinksHaveMostCircuitsThenMostPackets) {
  Start();
  // Two circuits over link (0, 0, 0) would need the same input. Circuits of two inputs meet at
  // stage 4, the first stage of the second copy.
  v1::SetUpRequest request;
  for (uint32_t input : {0u, 8u}) {
    request.set_input(input);
    request.set_output(input == 0 ? 1 : 2);
    request.clear_rows();
    // Both go to row 0 at stage 1, straight on to the second copy, and then to their outputs.
    for (uint32_t row : {input, 0u, 0u, 0u, 0u, 0u, 0u, request.output() & 2, request.output()}) {
      request.add_rows(row);
    }
    ASSERT_TRUE(Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, request).ok());
  }
  SetPackets({7, 9, 0}, 1000);
  SetPackets({7, 9, 1}, 999);
  v1::CounterFilter filter;
  // Both circuits share the five links of stages 1 to 5. Behind these links come links with one
  // circuit, then links by packets.
  filter.set_top(5);
  const v1::Counters shared = Get(filter);
  EXPECT_EQ(shared.links_size(), 5);
  for (const v1::LinkCounters& link : shared.links()) EXPECT_EQ(link.circuits(), 2u);
  filter.set_top(12);
  const v1::Counters counters = Get(filter);
  ASSERT_EQ(counters.links_size(), 12);
  // 5 links with two circuits, 6 with one (stages 0, 6 and 7 of each circuit), then the link with
  // the most packets.
  for (int i = 5; i < 11; ++i) EXPECT_EQ(counters.links(i).circuits(), 1u);
  EXPECT_EQ(counters.links(11).packets(), 1000u);
}

// GetCounters has the data planes rank the links, and a subscription ranks those of its picture.
TEST_F(TelemetryServiceTest, FewerLinksThanTopComeInTheSameOrderFromBothCalls) {
  Start();
  SetPackets({0, 0, 0}, 1);
  SetPackets({5, 1, 0}, 900);
  SetPackets({7, 2, 1}, 1000);
  SetPackets({6, 2, 1}, 900);
  v1::CounterFilter filter;
  filter.set_nonzero(true);
  for (const uint32_t top : {3u, 4u, 5u}) {
    filter.set_top(top);
    Subscriber subscriber(*controller_, v1::SubscribeRequest::SAMPLE, 10, filter);
    for (const v1::Counters& counters : {subscriber.Next(), Get(filter)}) {
      std::vector<uint32_t> stages;
      for (const v1::LinkCounters& link : counters.links()) stages.push_back(link.stage());
      std::vector<uint32_t> hottest = {7, 5, 6, 0};
      hottest.resize(std::min<size_t>(top, hottest.size()));
      EXPECT_EQ(stages, hottest) << "top " << top;
    }
  }
}

TEST_F(TelemetryServiceTest, BadSubscriptionsAreRefusedByField) {
  Start();
  for (uint32_t interval : {0u, 9u, 60'001u}) {
    Subscriber subscriber(*controller_, v1::SubscribeRequest::SAMPLE, interval);
    const absl::Status status = subscriber.End();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(FieldsOf(status), ElementsAre("interval_ms"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("10..60000"));
  }
  v1::CounterFilter filter;
  filter.add_rows(16);
  Subscriber subscriber(*controller_, v1::SubscribeRequest::SAMPLE, 10, filter);
  EXPECT_THAT(FieldsOf(subscriber.End()), ElementsAre("filter.rows[0]"));
}

// A subscriber keeps its filter, which has no more entries than the network has to list: 16 rows,
// 8 stages and 2 ports.
TEST_F(TelemetryServiceTest, AFilterWithMoreEntriesThanTheNetworkIsRefused) {
  Start();
  v1::CounterFilter filter;
  for (int i = 0; i < 17; ++i) filter.add_row_ranges();
  for (int i = 0; i < 9; ++i) filter.add_stage_ranges();
  for (int i = 0; i < 9; ++i) filter.add_stages(i % 8);
  for (int i = 0; i < 3; ++i) filter.add_ports(i % 2);
  Subscriber refused(*controller_, v1::SubscribeRequest::SAMPLE, 10, filter);
  const absl::Status status = refused.End();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("filter.stages", "filter.stage_ranges",
                                            "filter.row_ranges", "filter.ports"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the network has 8 stages"));

  filter.mutable_row_ranges()->RemoveLast();
  filter.mutable_stage_ranges()->RemoveLast();
  filter.mutable_stages()->RemoveLast();
  filter.mutable_ports()->RemoveLast();
  Subscriber taken(*controller_, v1::SubscribeRequest::SAMPLE, 10, filter);
  EXPECT_EQ(taken.Next().links_size(), 8 * 1 * 2);  // every range is of row 0
}

TEST_F(TelemetryServiceTest, ASubscriptionEndsWithItsFabric) {
  Start();
  Subscriber subscriber(*controller_, v1::SubscribeRequest::SAMPLE, 10);
  EXPECT_EQ(subscriber.Next().links_size(), 256);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  EXPECT_EQ(subscriber.End().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TelemetryServiceTest, OnChangeTellsOnlyWhatChanged) {
  Start();
  Subscriber subscriber(*controller_, v1::SubscribeRequest::ON_CHANGE, 10);
  EXPECT_EQ(subscriber.Next().links_size(), 256);
  SetPackets({2, 5, 1}, 10);
  const v1::Counters packets = subscriber.Next();
  ASSERT_EQ(packets.links_size(), 1);
  EXPECT_EQ(packets.links(0).stage(), 2u);
  EXPECT_EQ(packets.links(0).packets(), 10u);
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  EXPECT_EQ(subscriber.Next().links_size(), 8);  // the links of the path
}

TEST_F(TelemetryServiceTest, ASlowClientLosesPicturesInBetweenAndIsToldHowMany) {
  // Full pictures of 10,240 links are some 200 kB: more than the transport takes ahead of a reader.
  Start(/*split=*/false, /*rows=*/512);
  Subscriber slow(*controller_, v1::SubscribeRequest::SAMPLE, 10);
  v1::CounterFilter summary;
  summary.set_summary(true);
  const int64_t first = slow.Next().time_ns();
  uint64_t skipped = 0;
  int64_t last = first;
  for (int round = 0; round < 50 && skipped == 0; ++round) {
    // Another client sees ten pictures meanwhile.
    Subscriber quick(*controller_, v1::SubscribeRequest::SAMPLE, 10, summary);
    for (int i = 0; i < 10; ++i) quick.Next();
    const v1::Counters counters = slow.Next();
    EXPECT_GT(counters.time_ns(), last);
    last = counters.time_ns();
    skipped = counters.skipped();
  }
  EXPECT_GT(skipped, 0u);
}

TEST_F(TelemetryServiceTest, PicturesKeepComingWhenTheTimeOfDayIsSetBack) {
  // The controller, which reads it, outlives this function.
  const auto hours_back = std::make_shared<std::atomic<int64_t>>(0);
  CounterPoll::Options poll = PollOnlyWhenAsked();
  poll.time_of_day = [hours_back] {
    return std::chrono::system_clock::now() - std::chrono::hours(*hours_back);
  };
  Start(/*split=*/false, /*rows=*/16, poll);
  v1::CounterFilter summary;
  summary.set_summary(true);
  Subscriber subscriber(*controller_, v1::SubscribeRequest::SAMPLE, 10, summary);
  v1::Counters before = subscriber.Next();
  *hours_back = 1;
  // Any number of pictures may have been taken before the clock was set. The stream has a deadline,
  // at which Next fails.
  bool seen_back = false;
  for (int since = 0; since < 20; since += seen_back ? 1 : 0) {
    const v1::Counters now = subscriber.Next();
    seen_back = seen_back || now.time_ns() < before.time_ns();
    EXPECT_GT(now.monotonic_ns(), before.monotonic_ns());
    before = now;
  }
}

TEST_F(TelemetryServiceTest, ManySubscribersShareOnePoll) {
  Start();
  v1::CounterFilter summary;
  summary.set_summary(true);
  std::vector<std::unique_ptr<Subscriber>> subscribers;
  for (int i = 0; i < 20; ++i) {
    subscribers.push_back(
        std::make_unique<Subscriber>(*controller_, v1::SubscribeRequest::SAMPLE, 20, summary));
  }
  const auto everybody_reads = [&] {
    for (auto& subscriber : subscribers) subscriber->Next();
  };
  everybody_reads();  // a new subscriber has a picture taken at once
  const auto begin = std::chrono::steady_clock::now();
  board_.TakeLog();
  std::chrono::duration<double, std::milli> took{};
  for (int round = 0; round < 5 || took.count() < 200; ++round) {
    everybody_reads();
    took = std::chrono::steady_clock::now() - begin;
  }
  const size_t reads = board_.TakeLog().size();
  // One in 20 ms, and some for what came at the edges; a poll for each would be 20 times as many.
  took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(static_cast<double>(reads), took.count() / 20 + 10);
}

}  // namespace
}  // namespace bfly::control
