// SPDX-License-Identifier: Apache-2.0
// Watching circuits over real gRPC: what a client knows that adds up all messages.
#include <gmock/gmock.h>

#include <random>

#include "tests/control/circuits_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A client that adds up the messages.
class Watcher {
 public:
  explicit Watcher(TestController& controller, const v1::WatchRequest& request = {})
      : stream_((SetDeadline(context_), controller.circuits->Watch(&context_, request))) {}
  ~Watcher() {
    context_.TryCancel();
    if (!ended_) static_cast<void>(stream_->Finish());
  }

  // The fields that do not change while a circuit stands.
  static std::string Fixed(v1::Circuit circuit) {
    circuit.clear_congestion();
    return circuit.SerializeAsString();
  }

  // The next message; false: the stream has ended.
  bool Next() {
    if (!stream_->Read(&news_)) return false;
    if (news_.reset()) known_.clear();
    for (const v1::Circuit& circuit : news_.removed()) EXPECT_EQ(known_.erase(circuit.id()), 1u);
    for (const v1::Circuit& circuit : news_.added()) {
      EXPECT_TRUE(known_.emplace(circuit.id(), Fixed(circuit)).second);
    }
    return true;
  }
  // Reads until a message is complete.
  void Snapshot() {
    do {
      ASSERT_TRUE(Next());
    } while (!news_.complete());
  }
  // Reads until the client knows what is listed; false after too many messages.
  bool CatchesUp(TestController& controller) {
    std::map<uint64_t, std::string> listed;
    for (const v1::Circuit& circuit : List(controller)) {
      listed.emplace(circuit.id(), Fixed(circuit));
    }
    while (known_ != listed) {
      if (!Next()) return false;
    }
    return true;
  }
  grpc::Status End() {
    while (Next()) {
    }
    ended_ = true;
    return stream_->Finish();
  }
  const v1::WatchResponse& news() const { return news_; }
  const std::map<uint64_t, std::string>& known() const { return known_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> stream_;
  bool ended_ = false;
  v1::WatchResponse news_;
  std::map<uint64_t, std::string> known_;  // by id
};

using CircuitsWatchTest = CircuitsServiceTest;

TEST_F(CircuitsWatchTest, TellsWhatStandsThenWhatChanges) {
  Start();
  const uint64_t first = SetUpCircuit(*controller_, 3, 5)->circuit().id();
  Watcher watcher(*controller_);
  watcher.Snapshot();
  ASSERT_EQ(watcher.news().added_size(), 1);
  EXPECT_EQ(watcher.news().added(0).id(), first);
  EXPECT_EQ(watcher.news().added(0).rows_size(), 9);

  const uint64_t second = SetUpCircuit(*controller_, 4, 6)->circuit().id();
  ASSERT_TRUE(watcher.Next());
  ASSERT_EQ(watcher.news().added_size(), 1);
  EXPECT_EQ(watcher.news().added(0).id(), second);
  ASSERT_TRUE(ReleaseCircuit(*controller_, first).ok());
  ASSERT_TRUE(watcher.Next());
  ASSERT_EQ(watcher.news().removed_size(), 1);
  EXPECT_EQ(watcher.news().removed(0).id(), first);
  EXPECT_TRUE(watcher.news().complete());
}

TEST_F(CircuitsWatchTest, NothingStandsIsToldToo) {
  Start();
  Watcher watcher(*controller_);
  watcher.Snapshot();
  EXPECT_THAT(watcher.known(), IsEmpty());
}

TEST_F(CircuitsWatchTest, WhatIsRefusedIsNotTold) {
  Start();
  Watcher watcher(*controller_);
  watcher.Snapshot();
  board_.RefuseInputs({6});
  EXPECT_FALSE(SetUpCircuit(*controller_, 6, 6).ok());
  board_.RefuseInputs({});
  ASSERT_TRUE(SetUpCircuit(*controller_, 7, 7).ok());
  ASSERT_TRUE(watcher.Next());
  ASSERT_EQ(watcher.news().added_size(), 1);
  EXPECT_EQ(watcher.news().added(0).input(), 7u);
}

TEST_F(CircuitsWatchTest, FiltersAsListDoes) {
  Start();
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  v1::WatchRequest request;
  request.set_output(9);
  Watcher watcher(*controller_, request);
  watcher.Snapshot();
  EXPECT_THAT(watcher.known(), IsEmpty());
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 6).ok());
  const uint64_t wanted = SetUpCircuit(*controller_, 7, 9)->circuit().id();
  ASSERT_TRUE(watcher.Next());
  ASSERT_EQ(watcher.news().added_size(), 1);
  EXPECT_EQ(watcher.news().added(0).id(), wanted);

  request.set_output(16);
  request.mutable_link()->set_stage(8);
  Watcher wrong(*controller_, request);
  const absl::Status status = FromGrpc(wrong.End());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("output", "link.stage"));
}

TEST_F(CircuitsWatchTest, AStreamThatIsRefusedGivesItsPlaceBack) {
  Start();
  Resource& watchers = controller_->controller().resources().watchers;
  watchers.SetLimit(1);
  v1::WatchRequest request;
  request.set_output(16);
  for (int i = 0; i < 3; ++i) {
    Watcher wrong(*controller_, request);
    EXPECT_EQ(wrong.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(Eventually([&] { return watchers.in_use() == 0; }));
  }
  EXPECT_EQ(watchers.refused(), 0u);
}

TEST_F(CircuitsWatchTest, AnotherFabricStartsItAnewAndNoneEndsIt) {
  Start();
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  Watcher watcher(*controller_);
  watcher.Snapshot();
  ASSERT_TRUE(Load(*controller_, SmallTopology(false, 32), /*replace=*/true).ok());
  ASSERT_TRUE(watcher.Next());
  EXPECT_TRUE(watcher.news().reset());
  EXPECT_TRUE(watcher.news().complete());
  const uint64_t id = SetUpCircuit(*controller_, 30, 31)->circuit().id();
  ASSERT_TRUE(watcher.Next());
  EXPECT_EQ(watcher.news().added(0).id(), id);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  EXPECT_EQ(watcher.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  Watcher late(*controller_);
  EXPECT_EQ(late.End().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// The transport holds the client's messages back. Meanwhile changes are kept once a row, other
// clients are served, and at the end the client knows what stands.
TEST_F(CircuitsWatchTest, AClientThatReadsSlowlyIsToldTheRightEnd) {
  Start(256);
  Watcher slow(*controller_);
  v1::SetUpBatchRequest batch;
  for (uint32_t row = 0; row < 256; ++row) {
    batch.add_requests()->set_input(row);
    batch.mutable_requests(row)->set_output(row);
  }
  uint64_t changes = 0;
  for (int round = 0; round < 500; ++round) {
    const auto response = Ask(batch);
    ASSERT_TRUE(response.ok()) << response.status();
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = controller_->circuits->Stream(&context);
    v1::CircuitOperation operation;
    for (const v1::CircuitResult& result : response->results()) {
      ASSERT_EQ(result.code(), 0) << result.message();
      operation.mutable_batch()->add_operations()->mutable_release()->set_id(result.circuit().id());
    }
    ASSERT_TRUE(stream->Write(operation));
    v1::CircuitResult result;
    ASSERT_TRUE(stream->Read(&result));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    changes += 512;
  }
  ASSERT_TRUE(SetUpCircuit(*controller_, 9, 8).ok());
  uint64_t told = 0;
  uint64_t skipped = 0;
  do {
    ASSERT_TRUE(slow.Next());
    told += slow.news().added_size() + slow.news().removed_size();
    skipped += slow.news().skipped();
  } while (slow.known().size() != 1 || List(*controller_)[0].id() != slow.known().begin()->first);
  EXPECT_GT(skipped, 0u);
  EXPECT_LT(told, changes);
}

// The changes come in pieces and from several clients. Their sum is what List returns.
TEST_F(CircuitsWatchTest, AfterRandomChangesTheClientKnowsWhatIsListed) {
  Start(64);
  Watcher watcher(*controller_);
  std::mt19937 random(3);
  for (int step = 0; step < 40; ++step) {
    board_.RefuseInputs(random() % 4 == 0 ? std::set<Row>{Row(random() % 64)} : std::set<Row>{});
    std::vector<std::thread> hands;
    for (int hand = 0; hand < 3; ++hand) {
      hands.emplace_back([this, seed = random()] {
        std::mt19937 own(seed);
        for (int i = 0; i < 5; ++i) {
          const auto circuit = SetUpCircuit(*controller_, own() % 64, own() % 64);
          if (circuit.ok() && own() % 2 == 0) {
            ReleaseCircuit(*controller_, circuit->circuit().id()).status().IgnoreError();
          }
        }
      });
    }
    for (std::thread& hand : hands) hand.join();
    if (step % 10 == 9) {
      v1::RoutePermutationRequest permutation;
      permutation.set_protocol("minimum");
      permutation.set_permutation("random");
      permutation.set_replace(true);
      board_.RefuseInputs({});
      ASSERT_TRUE(Ask(permutation).ok());
    }
    ASSERT_TRUE(watcher.CatchesUp(*controller_)) << "step " << step;
  }
  ExpectCountsEqualRecount(*controller_, agent_.get());
}

}  // namespace
}  // namespace bfly::control
