// SPDX-License-Identifier: Apache-2.0
// Batches over real gRPC: a million requests in one message, and deadlines and cancellation midway.
#include <gmock/gmock.h>

#include <future>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

// Under a sanitizer everything is ten to twenty times as slow.
#ifdef __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define BFLY_SLOW
#endif
#endif
#ifdef BFLY_SLOW
constexpr uint32_t kBatchRows = 1 << 11;
constexpr int kMany = 20'000;
#else
constexpr uint32_t kBatchRows = 1 << 16;
constexpr int kMany = 65'536;
#endif

class CircuitsBatchTest : public CircuitsServiceTest {
 protected:
  // Calls until one is caught midway, and by what its time changes if it was too late or too early.
  static constexpr int kSearches = 200;
  static constexpr double kEarlier = 0.85, kLater = 1.25;

  // Answers of a million results are more than a client takes by itself.
  absl::StatusOr<v1::SetUpBatchResponse> AskWithin(const v1::SetUpBatchRequest& request,
                                                   double seconds, double cancel_after = 0) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    const auto stub = v1::Circuits::NewStub(
        grpc::CreateCustomChannel(SocketAddress(directory_.path(), "controller"),
                                  grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)));
    std::future<void> canceller;
    if (cancel_after > 0) {
      canceller = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(duration<double>(cancel_after));
        context.TryCancel();
      });
    }
    v1::SetUpBatchResponse response;
    const absl::Status status = FromGrpc(stub->SetUpBatch(&context, request, &response));
    if (cancel_after > 0) canceller.wait();
    if (!status.ok()) return status;
    return response;
  }
  size_t Standing() {
    size_t size = 0;
    EXPECT_TRUE(controller_->controller()
                    .Commit(0, InAMinute(), [&](FabricState& state) { size = state.size(); })
                    .ok());
    return size;
  }
  // Recounts from the state itself, because the figures of so many links do not fit a message. It
  // runs after all calls before it.
  void ExpectRecount() {
    const absl::Status status =
        controller_->controller().Commit(0, InAMinute(), [](FabricState& state) {
          LinkLoad recount(state.network());
          for (const StandingCircuit& circuit : state.circuits()) {
            recount.Add(circuit.path.input, circuit.path.tag);
          }
          EXPECT_EQ(recount.counts(), state.load().counts());
        });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(agent_->host().held(true).circuits.size(), Standing());
  }
  void StartLarge() {
    Start(kBatchRows);
    for (Row row = 0; row < kBatchRows; ++row) {
      v1::SetUpRequest* request = all_.add_requests();
      request->set_input(row);
      request->set_output(row);
    }
  }
  void Clear() { ASSERT_TRUE(Load(*controller_, SmallTopology(false, kBatchRows), true).ok()); }

  v1::SetUpBatchRequest all_;
};

TEST_F(CircuitsBatchTest, AsManyRequestsAsOneMessageMayHoldAreAnsweredEach) {
  Start();
  v1::SetUpBatchRequest batch;
  for (int i = 0; i < kMany; ++i) {
    batch.add_requests()->set_input(i % 16);
    batch.mutable_requests(i)->set_output(i % 16);
  }
  const auto response = AskWithin(batch, 60);
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->results_size(), kMany);
  EXPECT_EQ(response->results(15).code(), 0);
  EXPECT_EQ(response->results(kMany - 1).code(), 9);  // FAILED_PRECONDITION
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

TEST_F(CircuitsBatchTest, MoreThanTheLimitIsRefusedWithTheLimitAndWhatToDo) {
  Start();
  v1::SetUpBatchRequest batch;
  for (int i = 0; i <= 1 << 16; ++i) batch.add_requests();
  const absl::Status status = AskWithin(batch, 60).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(FieldsOf(status), ElementsAre("requests"));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("65537"), HasSubstr("at most 65536"), HasSubstr("several batches")));
  EXPECT_EQ(Standing(), 0u);
}

TEST_F(CircuitsBatchTest, AllOrNothingThatRunsOutOfTimeLeavesNothing) {
  StartLarge();
  all_.set_all_or_nothing(true);
  const auto start = steady_clock::now();
  ASSERT_TRUE(AskWithin(all_, 60).ok());
  const double whole = duration<double>(steady_clock::now() - start).count();
  EXPECT_EQ(Standing(), kBatchRows);
  Clear();
  for (const bool cancel : {false, true}) {
    // The call is cancelled earlier and earlier until it is caught midway.
    bool given_up = false;
    for (double part = 0.6; part > 0.005 && !given_up; part *= 0.7) {
      const auto response =
          cancel ? AskWithin(all_, 60, part * whole) : AskWithin(all_, part * whole);
      // A client without an answer does not know what happened, but all circuits stand or none.
      const size_t standing = Standing();
      EXPECT_THAT(standing, testing::AnyOf(0u, kBatchRows));
      given_up = standing == 0;
      if (!response.ok()) {
        EXPECT_EQ(response.status().code(),
                  cancel ? absl::StatusCode::kCancelled : absl::StatusCode::kDeadlineExceeded);
      }
      ExpectRecount();
      if (standing != 0) Clear();
    }
    EXPECT_TRUE(given_up) << (cancel ? "cancelled" : "deadline");
  }
}

TEST_F(CircuitsBatchTest, BestEffortAnswersBeforeTheDeadlineWhatItDid) {
  StartLarge();
  size_t partial = 0;
  // It looks for a time in which some are done: more time where none was done, less where all were.
  double seconds = 0.005;
  for (int calls = 0; calls < kSearches && partial == 0; ++calls) {
    const auto response = AskWithin(all_, seconds);
    ExpectRecount();
    const size_t standing = Standing();
    seconds *= standing == kBatchRows ? kEarlier : kLater;
    if (response.ok() && standing > 0 && standing < kBatchRows) {
      partial = standing;
      size_t done = 0;
      for (const v1::CircuitResult& result : response->results()) {
        done += result.code() == 0;
        // DEADLINE_EXCEEDED
        EXPECT_TRUE(result.code() == 0 || result.code() == 4) << result.message();
      }
      EXPECT_EQ(response->results_size(), static_cast<int>(kBatchRows));
      EXPECT_EQ(done, standing);
    }
    if (standing != 0) Clear();
  }
  EXPECT_GT(partial, 0u);
}

TEST_F(CircuitsBatchTest, BestEffortThatWasCancelledTellsWhatItDidToTheSameKey) {
  StartLarge();
  size_t partial = 0;
  double after = 0.001;
  for (int calls = 0; calls < kSearches && partial == 0; ++calls) {
    all_.set_idempotency_key("key");
    AskWithin(all_, 60, after).status().IgnoreError();
    const size_t standing = Standing();
    ExpectRecount();
    after *= standing == kBatchRows ? kEarlier : kLater;
    if (standing > 0 && standing < kBatchRows) {
      partial = standing;
      const auto again = AskWithin(all_, 60);
      ASSERT_TRUE(again.ok()) << again.status();
      size_t done = 0;
      for (const v1::CircuitResult& result : again->results()) done += result.code() == 0;
      EXPECT_EQ(done, partial);
      EXPECT_EQ(again->results(static_cast<int>(kBatchRows) - 1).code(), 1);  // CANCELLED
      EXPECT_EQ(Standing(), partial);
    }
    Clear();
  }
  EXPECT_GT(partial, 0u);
}

TEST_F(CircuitsBatchTest, AMessageOfAStreamMayHaveMany) {
  Start(256);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = controller_->circuits->Stream(&context);
  v1::CircuitOperation operation;
  operation.set_tag(7);
  for (uint32_t row = 0; row < 256; ++row) {
    v1::CircuitOperation* member = operation.mutable_batch()->add_operations();
    member->set_tag(1000 + row);
    member->mutable_set_up()->set_input(row);
    member->mutable_set_up()->set_output(row ^ 5);
  }
  operation.mutable_batch()->add_operations()->mutable_batch();
  ASSERT_TRUE(stream->Write(operation));
  v1::CircuitResult result;
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.tag(), 7u);
  EXPECT_EQ(result.code(), 0);
  ASSERT_EQ(result.results_size(), 257);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(result.results(i).tag(), 1000u + i);
    EXPECT_EQ(result.results(i).circuit().output(), static_cast<uint32_t>(i) ^ 5);
  }
  EXPECT_EQ(result.results(256).code(), 3);  // a batch in a batch
  ExpectCountsEqualRecount(*controller_, agent_.get());

  // The message has too many operations, so it is refused as a whole, and the stream goes on.
  operation.Clear();
  for (int i = 0; i <= 4096; ++i) operation.mutable_batch()->add_operations();
  ASSERT_TRUE(stream->Write(operation));
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.code(), 8);  // RESOURCE_EXHAUSTED
  EXPECT_THAT(result.message(), HasSubstr("at most 4096"));
  operation.Clear();
  operation.mutable_batch();
  ASSERT_TRUE(stream->Write(operation));
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(result.code(), 0);
  EXPECT_EQ(result.results_size(), 0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace bfly::control
