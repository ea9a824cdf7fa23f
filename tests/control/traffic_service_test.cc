// SPDX-License-Identifier: Apache-2.0
// Named sources over real gRPC: which run together, which are listed, which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrafficServiceTest : public testing::Test {
 protected:
  void Begin(bool split = false) {
    agents_.push_back(
        std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0")));
    if (split) {
      agents_.push_back(
          std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1")));
    }
    controller_ = std::make_unique<TestController>(directory_.path());
    ASSERT_TRUE(Load(*controller_, SmallTopology(split)).ok());
    board_.TakeLog();
  }

  absl::Status Start(const std::vector<v1::TrafficSource>& sources) {
    v1::StartTrafficRequest request;
    request.mutable_sources()->Add(sources.begin(), sources.end());
    return Call(*controller_->traffic, &v1::Traffic::Stub::Start, request).status();
  }
  static v1::TrafficSource Named(const std::string& name, const std::string& rows = "") {
    v1::TrafficSource source;
    source.set_name(name);
    source.set_rows(rows);
    return source;
  }
  absl::Status Stop(const std::vector<std::string>& names) {
    v1::StopTrafficRequest request;
    request.mutable_names()->Assign(names.begin(), names.end());
    return Call(*controller_->traffic, &v1::Traffic::Stub::Stop, request).status();
  }
  v1::ListTrafficResponse List() {
    const auto listed =
        Call(*controller_->traffic, &v1::Traffic::Stub::List, v1::ListTrafficRequest());
    EXPECT_TRUE(listed.ok()) << listed.status();
    return listed.ok() ? *listed : v1::ListTrafficResponse();
  }
  // "name rows id" of each.
  std::vector<std::string> Listed() {
    std::vector<std::string> out;
    const v1::ListTrafficResponse response = List();
    for (const auto& status : response.sources()) {
      out.push_back(status.source().name() + " " + status.source().rows() + " " +
                    std::to_string(status.source().id()));
    }
    return out;
  }
  std::vector<std::string> FieldsOfStart(const v1::TrafficSource& source) {
    const absl::Status status = Start({source});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return FieldsOf(status);
  }

  TemporaryFolder directory_;
  FakeBoard board_, slow_;
  std::vector<std::unique_ptr<TestAgent>> agents_;
  std::unique_ptr<TestController> controller_;
};

TEST_F(TrafficServiceTest, SourcesRunSideBySideByName) {
  Begin();
  ASSERT_TRUE(Start({Named("a", "0-3"), Named("b", "4")}).ok());
  ASSERT_TRUE(Start({Named("", "5")}).ok());
  EXPECT_THAT(Listed(), ElementsAre("a 0-3 1", "b 4 2", " 5 3"));
  // A source replaces the one of the same name. Sources without a name replace those without a
  // name.
  ASSERT_TRUE(Start({Named("a", "6")}).ok());
  EXPECT_THAT(Listed(), ElementsAre("b 4 2", " 5 3", "a 6 4"));
  ASSERT_TRUE(Start({Named("", "7"), Named("", "8")}).ok());
  EXPECT_THAT(Listed(), ElementsAre("b 4 2", "a 6 4", " 7 5", " 8 6"));
  ASSERT_TRUE(Stop({"b"}).ok());
  EXPECT_THAT(Listed(), ElementsAre("a 6 4", " 7 5", " 8 6"));
  EXPECT_EQ(agents_[0]->host().held(true).sources.size(), 3u);

  const absl::Status unknown = Stop({"a", "b"});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()),
              HasSubstr("names[1]: no source \"b\" runs; running: a, -, -"));
  EXPECT_EQ(Listed().size(), 3u) << "nothing half done";
  ASSERT_TRUE(Stop({}).ok());
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_THAT(std::string(Stop({"a"}).message()), HasSubstr("none runs"));
}

TEST_F(TrafficServiceTest, TheListSaysWhatEachHasSentAndLeavesTracesOut) {
  Begin();
  v1::TrafficSource trace = Named("t");
  trace.set_destination(v1::TrafficSource::TRACE);
  trace.mutable_trace()->add_nanoseconds(0);
  trace.mutable_trace()->add_rows(1);
  trace.mutable_trace()->add_destinations(15);
  trace.mutable_trace()->add_bytes(64);
  ASSERT_TRUE(Start({Named("a"), trace}).ok());
  const v1::ListTrafficResponse response = List();
  ASSERT_EQ(response.sources_size(), 2);
  EXPECT_EQ(response.sources(0).packets(), 10u);  // the fake has sent ten times the id
  EXPECT_EQ(response.sources(1).packets(), 20u);
  EXPECT_FALSE(response.sources(1).source().has_trace());
  EXPECT_FALSE(response.latency().recording());
  // A controller that restarts takes the sources over, and goes on counting.
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  ASSERT_TRUE(Start({Named("b")}).ok());
  EXPECT_THAT(Listed(), ElementsAre("a  1", "t  2", "b  3"));
  EXPECT_EQ(agents_[0]->host().held(true).sources[1].trace().rows_size(), 1);
}

TEST_F(TrafficServiceTest, LatencyIsRecordedOnEveryDataPlaneWhileASourceWantsIt) {
  Begin(/*split=*/true);
  v1::TrafficSource timed = Named("timed");
  timed.set_latency(true);
  ASSERT_TRUE(Start({Named("a")}).ok());
  EXPECT_THAT(board_.TakeLog(), ElementsAre("sources 1"));
  // The data plane where packets arrive comes first, then the one where they start.
  ASSERT_TRUE(Start({timed}).ok());
  EXPECT_THAT(board_.TakeLog(), ElementsAre("latency on", "sources 0", "latency on", "sources 2"));
  EXPECT_TRUE(List().latency().recording());
  ASSERT_TRUE(Start({Named("b")}).ok());
  EXPECT_THAT(board_.TakeLog(), ElementsAre("sources 3")) << "recording goes on";
  ASSERT_TRUE(Start({timed}).ok());
  EXPECT_THAT(board_.TakeLog(), ElementsAre("latency on", "sources 0", "latency on", "sources 3"))
      << "a source that starts again starts recording again";
  ASSERT_TRUE(Stop({"timed"}).ok());
  EXPECT_THAT(board_.TakeLog(),
              ElementsAre("latency off", "sources 0", "latency off", "sources 2"));
  EXPECT_FALSE(List().latency().recording());
}

TEST_F(TrafficServiceTest, ADataPlaneThatIsLateToRecordLatenciesIsOutOfStepUntilItWasCompared) {
  agents_.push_back(
      std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0")));
  agents_.push_back(
      std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(slow_, "dp1")));
  controller_ = std::make_unique<TestController>(directory_.path());
  ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
  slow_.CloseGate();
  v1::StartTrafficRequest request;
  *request.add_sources() = Named("timed");
  request.mutable_sources(0)->set_latency(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  v1::StartTrafficResponse response;
  EXPECT_FALSE(controller_->traffic->Start(&context, request, &response).ok());
  ASSERT_TRUE(AllCallsEnd(*controller_));
  const absl::Status refused = SetUpCircuit(*controller_, 3, 5).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("data plane dp1"));
  slow_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return SetUpCircuit(*controller_, 3, 5).ok(); }));
  EXPECT_FALSE(List().latency().recording());
}

TEST_F(TrafficServiceTest, ADataPlaneThatDoesNotAnswerIsNamed) {
  agents_.push_back(
      std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(slow_, "dp0")));
  controller_ = std::make_unique<TestController>(directory_.path());
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  slow_.CloseGate();
  const absl::Status late = controller_->controller().traffic().Start(
      {Named("a")}, 0, std::chrono::steady_clock::now() + std::chrono::seconds(3));
  slow_.OpenGate();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), testing::StartsWith("data plane dp0: "));
}

TEST_F(TrafficServiceTest, ADataPlaneSendsWhatTheControllerCommittedAndNothingElse) {
  Begin();
  ASSERT_TRUE(Start({Named("a")}).ok());
  FabricHost& host = agents_[0]->host();
  const auto names = [&host] {
    std::vector<std::string> out;
    for (const v1::TrafficSource& source : host.held(true).sources) out.push_back(source.name());
    return out;
  };
  // As after a start whose answer was lost. By the circuit the controller sees that something has
  // changed.
  const auto change = [&] {
    v1::TrafficSource other = Named("other");
    other.set_id(77);
    ASSERT_TRUE(host.SetSources({other}, 0).ok());
    ASSERT_TRUE(host.UpdateCircuits({{.input = 5, .tag = 0, .id = 0}}, {}, 0).ok());
  };
  change();
  EXPECT_TRUE(Eventually([&] { return names() == std::vector<std::string>{"a"}; }));
  ASSERT_TRUE(Stop({}).ok());
  change();
  EXPECT_TRUE(Eventually([&] { return names().empty(); }));
}

TEST_F(TrafficServiceTest, SourcesThatSendFromTooManyRowsAreRefused) {
  Begin();
  Resources& resources = controller_->controller().resources();
  EXPECT_EQ(resources.source_rows.limit(), 4'194'304u);
  resources.source_rows.SetLimit(20);
  ASSERT_TRUE(Start({Named("a")}).ok());  // 16 rows
  EXPECT_EQ(resources.source_rows.in_use(), 16u);
  const absl::Status refused = Start({Named("b", "0-2,9,12")});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("source_rows: at most 20 are allowed at a time; with these, sources would "
                        "send from 21 rows; stop others first"));
  EXPECT_EQ(resources.source_rows.refused(), 1u);
  ASSERT_TRUE(Start({Named("b", "0-2,9")}).ok());
  EXPECT_EQ(resources.source_rows.in_use(), 20u);
  // A source that replaces another one takes its room.
  ASSERT_TRUE(Start({Named("a", "0-14"), Named("c", "3")}).ok());
  // A trace has no rows of its own, and a list that is wrong is told as that.
  EXPECT_EQ(FieldsOfStart(Named("d", "0-16")), std::vector<std::string>{"sources[0].rows"});
  ASSERT_TRUE(Stop({}).ok());
  EXPECT_EQ(resources.source_rows.in_use(), 0u);
}

TEST_F(TrafficServiceTest, TooManySourcesAreRefusedBeforeTheirFieldsAreRead) {
  Begin();
  controller_->controller().resources().sources.SetLimit(1);
  v1::TrafficSource wrong = Named("a b");
  wrong.set_packets_per_second(-5);
  EXPECT_EQ(Start({wrong, wrong}).code(), absl::StatusCode::kResourceExhausted);
  controller_->controller().resources().source_rows.SetLimit(15);
  EXPECT_EQ(Start({wrong}).code(), absl::StatusCode::kResourceExhausted)
      << "16 rows would be listed";
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(TrafficServiceTest, EveryWrongFieldIsNamed) {
  Begin();
  v1::TrafficSource source = Named("a b");
  source.set_packets_per_second(-5);
  source.set_destination(v1::TrafficSource::PATTERN);
  source.set_pattern("butterfly");
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].name", "sources[0].packets_per_second",
                                                 "sources[0].pattern"));
  EXPECT_THAT(std::string(Start({source}).message()),
              HasSubstr("use uniform, p-flip, bitcomp, bitrev, transpose, shuffle, tornado, "
                        "neighbor, randperm, hotspot, permutation"));
  source = Named("a");
  source.set_destination(v1::TrafficSource::PATTERN);
  source.set_pattern("p-flip");
  source.set_p(1.5);
  source.set_process(v1::TrafficSource::POISSON);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].packets_per_second", "sources[0].p"));
  source.set_p(0.5);
  source.set_packets_per_second(1000);
  source.set_process(v1::TrafficSource::BERNOULLI);
  source.set_slot(0.01);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].slot"));
  source.set_process(v1::TrafficSource::SLOTTED_BATCH);
  source.set_slot(1e298);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].slot"));
  source.set_process(v1::TrafficSource::ON_OFF);
  source.set_on(0.1);
  source.set_duty(1.5);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].duty"));
  source.set_process(static_cast<v1::TrafficSource::Process>(17));
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].process"));
  source = Named("a");
  source.set_destination(v1::TrafficSource::PATTERN);
  source.set_pattern("hotspot");
  source.add_hotspots(16);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].hotspots[0]"));
  source.set_pattern("permutation");
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].permutation"));

  source = Named("a");
  source.set_priority(8);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].priority"));

  source = Named("a");
  source.set_destination(v1::TrafficSource::TRACE);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].trace"));
  for (const uint32_t row : {3, 16}) {
    source.mutable_trace()->add_nanoseconds(100 - row);
    source.mutable_trace()->add_rows(row);
    source.mutable_trace()->add_destinations(0);
    source.mutable_trace()->add_bytes(64);
  }
  EXPECT_THAT(FieldsOfStart(source),
              ElementsAre("sources[0].trace.rows[1]", "sources[0].trace.nanoseconds[1]"));
  source.mutable_trace()->add_rows(1);
  EXPECT_THAT(FieldsOfStart(source), ElementsAre("sources[0].trace"));

  EXPECT_THAT(FieldsOf(Start({Named("x"), Named("y"), Named("x")})),
              ElementsAre("sources[2].name"));
  EXPECT_THAT(Listed(), IsEmpty());
}

}  // namespace
}  // namespace bfly::control
