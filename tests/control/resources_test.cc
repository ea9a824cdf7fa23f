// SPDX-License-Identifier: Apache-2.0
// The limits of what clients may take: memory of messages, pictures, places in queues.
#include "control/controller/resources.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <functional>

#include "control/server/message_bytes.h"
#include "control/services/picture_bytes.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

TEST(Resource, TakesUpToItsLimitAndCountsRefusals) {
  Resource resource("things", 3);
  EXPECT_TRUE(resource.Take(2));
  EXPECT_TRUE(resource.Take());
  EXPECT_FALSE(resource.Take());
  EXPECT_EQ(resource.refused(), 1u);
  resource.Give(3);
  EXPECT_EQ(resource.in_use(), 0u);
  // A request above the limit is served alone.
  EXPECT_TRUE(resource.Take(5));
  EXPECT_FALSE(resource.Take());
}

grpc::ByteBuffer BytesOf(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

class ResourcesTest : public testing::Test {
 protected:
  void Start(const v1::Topology& topology) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path());
    ASSERT_TRUE(Load(*controller_, topology).ok());
  }
  v1::ResourceUse Use(const std::string& name) {
    const v1::FabricStatus status = StatusOf(*controller_);
    for (const v1::ResourceUse& use : status.resources()) {
      if (use.name() == name) return use;
    }
    ADD_FAILURE() << "no resource " << name;
    return {};
  }

  // Makes a call of any method with these bytes, or without a message if there are none.
  grpc::Status SendBytes(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(controller_->channel);
    grpc::ClientContext context;
    SetDeadline(context);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(&context, "/bfly.v1." + method, &queue);
    void* tag;
    bool ok;
    const auto done = [&] { return queue.Next(&tag, &ok); };
    call->StartCall(nullptr);
    EXPECT_TRUE(done());
    if (bytes.empty()) {
      call->WritesDone(nullptr);
    } else {
      call->WriteLast(BytesOf(bytes), grpc::WriteOptions(), nullptr);
    }
    EXPECT_TRUE(done());
    grpc::Status status;
    call->Finish(&status, nullptr);
    EXPECT_TRUE(done());
    return status;
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> agent_;
  std::unique_ptr<TestController> controller_;
};

TEST_F(ResourcesTest, ObjectsBeyondTheLimitAreRefusedAndCounted) {
  Start(RandomlyWired(16));
  v1::PlaceRequest place;
  place.set_count(1 << 24);
  const auto ask = [&] {
    return Call(*controller_->data_server, &v1::DataServer::Stub::Place, place).status();
  };
  EXPECT_EQ(ask().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FieldsOf(ask()), std::vector<std::string>{"count"});
  place.set_count(100'000);
  EXPECT_TRUE(ask().ok());
  place.set_first(100'000);
  EXPECT_EQ(ask().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Use("objects").in_use(), 100'000u);
  EXPECT_EQ(Use("objects").limit(), 131'072u);
  EXPECT_EQ(Use("objects").refused(), 3u);
  place.set_replace(true);
  EXPECT_TRUE(ask().ok());
}

TEST_F(ResourcesTest, SubscribersBeyondTheLimitAreRefusedAndClosingOneMakesRoom) {
  Start(SmallTopology());
  const uint64_t limit = controller_->controller().resources().subscribers.limit();
  v1::SubscribeRequest request;
  request.set_mode(v1::SubscribeRequest::SAMPLE);
  request.set_interval_ms(60'000);
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::Counters>> reader;
  };
  std::vector<std::unique_ptr<Stream>> streams;
  const auto open = [&] {
    Stream& stream = *streams.emplace_back(std::make_unique<Stream>());
    SetDeadline(stream.context);
    stream.reader = controller_->telemetry->Subscribe(&stream.context, request);
    v1::Counters counters;
    if (stream.reader->Read(&counters)) return absl::OkStatus();
    return FromGrpc(stream.reader->Finish());
  };
  for (uint64_t i = 0; i < limit; ++i) ASSERT_TRUE(open().ok()) << i;
  const absl::Status refused = open();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 256"));
  EXPECT_EQ(Use("subscribers").in_use(), limit);
  streams[0]->context.TryCancel();
  EXPECT_TRUE(Eventually([&] { return Use("subscribers").in_use() < limit; }));
  EXPECT_TRUE(open().ok());
  for (const auto& stream : streams) stream->context.TryCancel();
}

TEST_F(ResourcesTest, SubscribersOfTheSameShareOneMessage) {
  Start(SmallTopology());
  CounterPoll poll(controller_->controller());
  Resource memory("picture_bytes", 1 << 20);
  PictureBytes pictures(memory);
  const PicturePtr picture = *poll.Now(/*links=*/true);
  const v1::CounterFilter all;
  const auto one = pictures.Make(picture, nullptr, all, false);
  EXPECT_EQ(pictures.Make(picture, nullptr, all, false), one);
  v1::CounterFilter row;
  row.add_rows(3);
  EXPECT_NE(pictures.Make(picture, nullptr, row, false), one);
  EXPECT_EQ(memory.in_use(), one->WithSkipped(0).Length());
  v1::Counters told;
  ASSERT_TRUE(Parse(one->WithSkipped(7), &told).ok());
  EXPECT_EQ(told.skipped(), 7u);
  EXPECT_EQ(told.links_size(), 256);
  // A picture that does not fit is not taken.
  memory.SetLimit(1);
  EXPECT_EQ(pictures.Make(picture, nullptr, row, false), nullptr);
}

// Returns the error of a stream that ends without an answer.
template <class Answer, class Stream>
absl::Status FirstAnswer(Stream& stream) {
  Answer answer;
  if (stream.Read(&answer)) return absl::OkStatus();
  return FromGrpc(stream.Finish());
}

TEST_F(ResourcesTest, WatchersStreamsAndSourcesBeyondTheLimitAreRefusedByName) {
  Start(SmallTopology());
  Resources& resources = controller_->controller().resources();
  resources.watchers.SetLimit(1);
  resources.streams.SetLimit(1);
  resources.sources.SetLimit(1);

  struct WatchCall {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> call;
  } watch[2];
  const auto open_watch = [&](WatchCall& one) {
    SetDeadline(one.context);
    one.call = controller_->circuits->Watch(&one.context, v1::WatchRequest());
    return std::string(FirstAnswer<v1::WatchResponse>(*one.call).message());
  };
  EXPECT_EQ(open_watch(watch[0]), "");
  EXPECT_THAT(open_watch(watch[1]), HasSubstr("watchers: at most 1"));
  EXPECT_EQ(Use("watchers").in_use(), 1u);
  EXPECT_EQ(Use("watchers").refused(), 1u);
  watch[0].context.TryCancel();
  EXPECT_TRUE(Eventually([&] { return Use("watchers").in_use() == 0; }));

  struct OperationCall {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::CircuitOperation, v1::CircuitResult>> call;
  } stream[2];
  const auto open_stream = [&](OperationCall& one) {
    SetDeadline(one.context);
    one.call = controller_->circuits->Stream(&one.context);
    one.call->Write(v1::CircuitOperation());
    return std::string(FirstAnswer<v1::CircuitResult>(*one.call).message());
  };
  EXPECT_EQ(open_stream(stream[0]), "");
  EXPECT_THAT(open_stream(stream[1]), HasSubstr("streams: at most 1"));
  EXPECT_EQ(Use("streams").in_use(), 1u);
  stream[0].call->WritesDone();
  EXPECT_TRUE(Eventually([&] { return Use("streams").in_use() == 0; }));

  v1::StartTrafficRequest traffic;
  for (const char* name : {"one", "two"}) traffic.add_sources()->set_name(name);
  const absl::Status refused =
      Call(*controller_->traffic, &v1::Traffic::Stub::Start, traffic).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(Use("sources").refused(), 1u);
}

TEST_F(ResourcesTest, ASingleOrderTakesMemoryUntilItIsCarriedOut) {
  Start(SmallTopology());
  Resource& memory = controller_->controller().resources().order_bytes;
  v1::SetUpRequest request;
  for (int i = 0; i < 1'000; ++i) request.add_avoid()->set_row(15);
  const auto ask = [&] {
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUp, request).status();
  };
  EXPECT_TRUE(ask().ok());
  EXPECT_TRUE(Eventually([&] { return memory.in_use() == 0; }));
  ASSERT_TRUE(memory.Take(memory.limit()));
  EXPECT_EQ(ask().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(memory.refused(), 1u);
  memory.Give(memory.limit());
  EXPECT_EQ(ask().code(), absl::StatusCode::kFailedPrecondition);  // the input is busy
  // A megabyte of links without a field would take 40 MB.
  for (int i = 0; i < 500'000; ++i) request.add_avoid();
  EXPECT_EQ(ask().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Eventually([&] { return memory.in_use() == 0; }));
}

TEST_F(ResourcesTest, AJournalOfMoreObjectsThanTheLimitIsToldAndDoesNotStopTheController) {
  Start(RandomlyWired(16));
  controller_->controller().resources().objects.SetLimit(1 << 24);
  v1::PlaceRequest place;
  place.set_count(200'000);
  const auto ask = [&] {
    return Call(*controller_->data_server, &v1::DataServer::Stub::Place, place).status();
  };
  ASSERT_TRUE(ask().ok());
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_TRUE(StatusOf(*controller_).loaded());
  EXPECT_EQ(Use("objects").in_use(), 0u);
  EXPECT_TRUE(controller_->Logged("200000 objects are more than the 131072"));
  EXPECT_TRUE(controller_->Logged("bfly data-server place --replace"));
  place.set_count(1'000);
  place.set_replace(true);
  EXPECT_TRUE(ask().ok());
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  StatusOf(*controller_);
  EXPECT_EQ(Use("objects").in_use(), 1'000u);
}

// Messages that the controller would keep as long as a stream, or that take far more memory than
// bytes, are refused, and what was taken for their streams is given back.
TEST_F(ResourcesTest, RequestsOfStreamsAreShort) {
  Start(SmallTopology());
  std::string watch, ranges;
  for (int i = 0; i < 2'500; ++i) watch += std::string("\x08\x01", 2);
  for (const char* method : {"Circuits/Watch", "Fabric/Arbitrate"}) {
    const grpc::Status refused = SendBytes(method, watch);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_THAT(refused.error_message(), HasSubstr("5000 bytes, at most 4096")) << method;
  }
  v1::SubscribeRequest subscribe;
  subscribe.set_mode(v1::SubscribeRequest::SAMPLE);
  subscribe.set_interval_ms(60'000);
  for (int i = 0; i < 10'000; ++i) subscribe.mutable_filter()->add_row_ranges();
  const grpc::Status refused = SendBytes("Telemetry/Subscribe", subscribe.SerializeAsString());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("bytes of memory, at most 262144"));
  const grpc::Status longer = SendBytes("Telemetry/Subscribe", std::string(70'000, 'x'));
  EXPECT_THAT(longer.error_message(), HasSubstr("70000 bytes, at most 65536"));
  for (const char* name : {"watchers", "elections", "subscribers"}) {
    EXPECT_TRUE(Eventually([&] { return Use(name).in_use() == 0; })) << name;
  }
}

TEST_F(ResourcesTest, AMessageWithAGroupIsRefused) {
  Start(SmallTopology());
  std::string groups("\xc3\x3e", 2);
  for (int i = 0; i < 20'000; ++i) groups += std::string("\x0b\x0c", 2);
  groups += std::string("\xc4\x3e", 2);
  for (const char* method : {"Fabric/Status", "Circuits/SetUpBatch", "Circuits/SetUp"}) {
    const grpc::Status status = SendBytes(method, groups);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("field 1000")) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("is a group")) << method;
  }
}

// Calls of a lane that is full are refused, and those of the other lanes are carried out.
TEST_F(ResourcesTest, EachLaneOfCallsHasItsOwnRoom) {
  Start(SmallTopology());
  Resources& resources = controller_->controller().resources();
  const auto dry_run = [&] {
    v1::RouteRequest request;
    request.set_program("flood");
    return Call(*controller_->programs, &v1::Programs::Stub::DryRun, request).status();
  };
  const auto route = [&] {
    v1::RouteRequest request;
    request.set_program("flood");
    return Call(*controller_->programs, &v1::Programs::Stub::Route, request).status();
  };
  const auto read = [&] {
    return Call(*controller_->fabric, &v1::Fabric::Stub::GetPorts, v1::GetPortsRequest()).status();
  };
  const auto change = [&] {
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUpBatch, v1::SetUpBatchRequest())
        .status();
  };
  struct LaneCall {
    Resource& room;
    std::function<absl::Status()> call;
    std::string told;
  };
  const std::vector<LaneCall> lanes{{resources.dry_runs, dry_run, "dry runs that wait or run"},
                                    {resources.programs, route, "programs that wait or run"},
                                    {resources.reads, read, "reads that wait"},
                                    {resources.calls, change, "changes that wait"}};
  for (const LaneCall& full : lanes) {
    ASSERT_TRUE(Eventually([&] { return full.room.in_use() == 0; }));
    ASSERT_TRUE(full.room.Take(full.room.limit()));
    for (const LaneCall& lane : lanes) {
      const absl::Status status = lane.call();
      EXPECT_EQ(status.code() == absl::StatusCode::kResourceExhausted, &lane == &full)
          << full.room.name() << " is full; " << lane.room.name() << ": " << status;
      if (&lane == &full) {
        EXPECT_THAT(std::string(status.message()), HasSubstr(lane.told));
      }
    }
    EXPECT_EQ(full.room.refused(), 1u);
    full.room.Give(full.room.limit());
  }
  EXPECT_EQ(Use("dry_runs").limit(), 16u);
  EXPECT_EQ(Use("reads").limit(), 1'024u);
}

TEST_F(ResourcesTest, AChangeIsRefusedBeforeItIsMadeOrIsAnswered) {
  Start(SmallTopology());
  Resource& answers = controller_->controller().resources().answer_bytes;
  v1::SetUpBatchRequest batch;
  batch.add_requests()->set_output(1);
  const auto change = [&] {
    return Call(*controller_->circuits, &v1::Circuits::Stub::SetUpBatch, batch).status();
  };
  const auto takes = [&](uint64_t bytes) {
    return Eventually([&] { return answers.in_use() == bytes; });
  };
  const uint64_t limit = answers.limit();
  ASSERT_TRUE(takes(0));
  ASSERT_TRUE(answers.Take(limit));
  const absl::Status refused = change();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("answers that their clients do not read"));
  EXPECT_EQ(answers.refused(), 1u);
  answers.Give(limit);
  EXPECT_TRUE(List(*controller_).empty());
  // A byte is left, and the answer has more.
  ASSERT_TRUE(takes(0));
  ASSERT_TRUE(answers.Take(limit - 1));
  EXPECT_TRUE(change().ok());
  ASSERT_TRUE(takes(limit - 1));
  answers.Give(limit - 1);
  EXPECT_EQ(List(*controller_).size(), 1u);
}

TEST_F(ResourcesTest, MalformedBytesAndNoBytesAreInvalidArgumentsOfEveryKindOfCall) {
  Start(SmallTopology());
  const std::string malformed = "\x0a\xff\xff\xff\xff\x0f";
  for (const char* method :
       {"Circuits/SetUp", "Circuits/Release", "Circuits/Move", "Circuits/List", "Circuits/Watch",
        "Circuits/SetUpBatch", "DataServer/Request", "Fabric/Verify", "Telemetry/Subscribe"}) {
    for (const std::string& bytes : {malformed, std::string()}) {
      const grpc::Status status = SendBytes(method, bytes);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << method << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr("message"));
    }
  }
  // Neither message was carried out as a set-up from row 0 to row 0.
  EXPECT_EQ(StatusOf(*controller_).circuits(), 0u);
}

}  // namespace
}  // namespace bfly::control
