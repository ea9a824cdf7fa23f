// SPDX-License-Identifier: Apache-2.0
// Viewers fill half of the places of calls and streams. The other half is left for those who may
// change the fabric.
#include <gmock/gmock.h>

#include <functional>

#include "control/access/gate.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

class ViewerShareTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
    GrpcServer::Options options;
    options.sockets = {SocketAddress(directory_.path(), "gated")};
    options.gate = &services_->gate;
    auto server = GrpcServer::Start(options, {&services_->fabric, &services_->circuits,
                                              &services_->telemetry, &services_->events});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    viewer_ = server_->ConnectAs({Role::kViewer, "a viewer", "a viewer"});
    operator_ = server_->ConnectAs({Role::kOperator, "an operator", "an operator"});
  }
  Resources& resources() { return controller_->controller().resources(); }

  struct AnyStream {
    virtual ~AnyStream() { context.TryCancel(); }
    grpc::ClientContext context;
  };
  template <class Answer>
  struct Stream : AnyStream {
    std::unique_ptr<grpc::ClientReader<Answer>> reader;
  };
  // Opens a stream that lasts as long as the test. Returns the error that came instead of the first
  // answer.
  template <class Answer, class Stub, class Request>
  absl::Status Open(Stub stub, const Request& request,
                    std::unique_ptr<grpc::ClientReader<Answer>> (Stub::element_type::*method)(
                        grpc::ClientContext*, const Request&)) {
    auto stream = std::make_unique<Stream<Answer>>();
    SetDeadline(stream->context);
    stream->reader = (stub.get()->*method)(&stream->context, request);
    Answer answer;
    if (!stream->reader->Read(&answer)) return FromGrpc(stream->reader->Finish());
    streams_.push_back(std::move(stream));
    return absl::OkStatus();
  }

  struct Services {
    explicit Services(Controller& controller)
        : poll(controller, PollOnlyWhenAsked()),
          desk(controller.resources(), &gate),
          events(controller.events(), controller.resources(), desk),
          fabric(controller, poll, desk),
          circuits(controller, desk),
          telemetry(poll, desk) {}

    Gate gate{AccessRules()};
    CounterPoll poll;
    CallDesk desk;
    EventsService events;
    FabricService fabric;
    CircuitsService circuits;
    TelemetryService telemetry;
  };

  FakeBoard board_;
  TemporaryFolder directory_;
  const std::unique_ptr<TestAgent> agent_ =
      std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  const std::unique_ptr<TestController> controller_ =
      std::make_unique<TestController>(directory_.path());
  const std::unique_ptr<Services> services_ = std::make_unique<Services>(controller_->controller());
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> viewer_, operator_;
  std::vector<std::unique_ptr<AnyStream>> streams_;
};

TEST_F(ViewerShareTest, AViewerReadsWhileLessThanHalfOfThePlacesAreTaken) {
  const auto read = [](const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = v1::Fabric::NewStub(channel);
    return Call(*stub, &v1::Fabric::Stub::GetPorts, v1::GetPortsRequest()).status();
  };
  Resource& reads = resources().reads;
  // The place of a call is given back a moment after its answer.
  const auto takes = [&](uint64_t places) {
    return Eventually([&] { return reads.in_use() == places; });
  };
  ASSERT_EQ(reads.limit(), 1'024u);
  ASSERT_TRUE(reads.Take(511));
  EXPECT_TRUE(read(viewer_).ok());
  ASSERT_TRUE(takes(511));
  ASSERT_TRUE(reads.Take(1));
  const absl::Status refused = read(viewer_);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("at most 512 are allowed at a time before viewers get none"));
  EXPECT_TRUE(read(operator_).ok());
  ASSERT_TRUE(takes(512));
  ASSERT_TRUE(reads.Take(511));
  EXPECT_TRUE(read(operator_).ok());
  ASSERT_TRUE(takes(1'023));
  ASSERT_TRUE(reads.Take(1));
  EXPECT_THAT(std::string(read(operator_).message()), HasSubstr("at most 1024 are allowed at"));
  reads.Give(1'024);
}

TEST_F(ViewerShareTest, ViewersLeaveHalfOfTheMemoryOfAnswersToOperators) {
  const auto read = [](const std::shared_ptr<grpc::Channel>& channel) {
    const auto stub = v1::Fabric::NewStub(channel);
    return Call(*stub, &v1::Fabric::Stub::Status, v1::StatusRequest()).status();
  };
  Resource& answers = resources().answer_bytes;
  // The memory of an answer is given back a moment after it.
  const auto takes = [&](uint64_t bytes) {
    return Eventually([&] { return answers.in_use() == bytes; });
  };
  ASSERT_TRUE(takes(0));
  const uint64_t half = answers.limit() / 2;
  ASSERT_TRUE(answers.Take(half));
  const absl::Status refused = read(viewer_);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("answers that their clients do not read"));
  EXPECT_TRUE(read(operator_).ok());
  ASSERT_TRUE(takes(half));
  answers.Give(half);
  EXPECT_TRUE(read(viewer_).ok());
}

TEST_F(ViewerShareTest, ViewersLeaveHalfOfTheStreamsToOperators) {
  v1::SubscribeRequest subscribe;
  subscribe.set_mode(v1::SubscribeRequest::SAMPLE);
  subscribe.set_interval_ms(60'000);
  using Channel = std::shared_ptr<grpc::Channel>;
  struct Kind {
    Resource& places;
    std::function<absl::Status(const Channel&)> open;
  };
  const std::vector<Kind> kinds{
      {resources().watchers,
       [&](const Channel& channel) {
         return Open<v1::WatchResponse>(v1::Circuits::NewStub(channel), v1::WatchRequest(),
                                        &v1::Circuits::Stub::Watch);
       }},
      {resources().subscribers,
       [&](const Channel& channel) {
         return Open<v1::Counters>(v1::Telemetry::NewStub(channel), subscribe,
                                   &v1::Telemetry::Stub::Subscribe);
       }},
      {resources().event_streams, [&](const Channel& channel) {
         return Open<v1::Event>(v1::Events::NewStub(channel), v1::WatchEventsRequest(),
                                &v1::Events::Stub::Watch);
       }}};
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.places.name());
    kind.places.SetLimit(4);
    EXPECT_TRUE(kind.open(viewer_).ok());
    EXPECT_TRUE(kind.open(viewer_).ok());
    const absl::Status third = kind.open(viewer_);
    EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(third.message()),
                HasSubstr("at most 2 are allowed at a time before viewers get none"));
    EXPECT_TRUE(kind.open(operator_).ok());
    EXPECT_TRUE(kind.open(operator_).ok());
    EXPECT_THAT(std::string(kind.open(operator_).message()), HasSubstr("at most 4 are allowed at"));
    EXPECT_EQ(kind.places.refused(), 2u);
  }
}

}  // namespace
}  // namespace bfly::control
