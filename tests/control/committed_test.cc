// SPDX-License-Identifier: Apache-2.0
// While a data plane keeps the controller waiting, readers see what stood before the change.
#include <gmock/gmock.h>

#include <future>
#include <numeric>
#include <thread>

#include "tests/control/faults_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CommittedTest : public FaultsTest {
 protected:
  // The controller does not look at its data plane by itself: the data plane cannot answer while it
  // is kept waiting.
  void Begin(v1::CircuitPolicy::OnFailure on_failure = v1::CircuitPolicy::KEEP) {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    controller_ = std::make_unique<TestController>(directory_.path(), 3'600'000);
    v1::Topology topology = SmallTopology();
    topology.mutable_circuits()->set_on_failure(on_failure);
    ASSERT_TRUE(Load(*controller_, topology).ok());
    first_ = SetUpOne(1, 1);
  }
  void TearDown() override { board_.OpenGate(); }

  // Begins `change` and returns when the data plane has been told of it, which does not answer.
  template <class Change>
  auto Held(Change change) {
    board_.CloseGate();
    auto answer = std::async(std::launch::async, std::move(change));
    EXPECT_TRUE(Eventually([&] { return board_.SomethingWaits(); }));
    return answer;
  }
  // What readers of every kind that ask no data plane say of circuits; they must agree.
  std::vector<Row> Inputs() {
    std::vector<Row> inputs;
    for (const v1::Circuit& circuit : List(*controller_)) inputs.push_back(circuit.input());
    const auto view = controller_->controller().view(/*circuits=*/true);
    EXPECT_TRUE(view.ok()) << view.status();
    if (!view.ok()) return {};
    EXPECT_EQ(view->standing, inputs.size());
    EXPECT_EQ(std::accumulate(view->circuits.begin(), view->circuits.end(), 0u),
              8 * inputs.size());  // links of a path
    EXPECT_EQ(controller_->controller().Status().circuits(), inputs.size());
    return inputs;
  }

  v1::Circuit first_;  // stands, at input 1
};

TEST_F(CommittedTest, ACircuitIsSeenWhenTheDataPlaneHoldsItAndNotBefore) {
  Begin();
  auto answer = Held([this] { return SetUpCircuit(*controller_, 3, 5); });
  EXPECT_THAT(Inputs(), ElementsAre(1));
  EXPECT_THAT(Inputs(), ElementsAre(1));  // a second reader
  board_.OpenGate();
  const auto circuit = answer.get();
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  EXPECT_THAT(Inputs(), ElementsAre(1, 3));
  EXPECT_EQ(List(*controller_)[1].id(), circuit->circuit().id());
  EXPECT_EQ(List(*controller_)[1].congestion(), circuit->circuit().congestion());
  EXPECT_TRUE(ReleaseCircuit(*controller_, circuit->circuit().id()).ok());
}

TEST_F(CommittedTest, ACircuitThatTheDataPlaneRefusesIsNeverSeen) {
  Begin();
  auto answer = Held([this] { return SetUpCircuit(*controller_, 3, 5, 0, "key"); });
  EXPECT_THAT(Inputs(), ElementsAre(1));
  board_.RefuseInputs({3});
  board_.OpenGate();
  EXPECT_EQ(answer.get().status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Inputs(), ElementsAre(1));
  // Nothing is left of it, its key neither.
  board_.RefuseInputs({});
  EXPECT_TRUE(SetUpCircuit(*controller_, 3, 6, 0, "key").ok());
  EXPECT_THAT(Inputs(), ElementsAre(1, 3));
}

TEST_F(CommittedTest, AKeyOfASetUpThatReadersDidNotSeeYetIsKept) {
  Begin();
  auto answer = Held([this] { return SetUpCircuit(*controller_, 3, 5, 0, "key"); });
  EXPECT_THAT(Inputs(), ElementsAre(1));
  board_.OpenGate();
  const auto first = answer.get();
  const auto again = SetUpCircuit(*controller_, 3, 5, 0, "key");
  ASSERT_TRUE(first.ok() && again.ok()) << first.status() << again.status();
  EXPECT_EQ(again->circuit().id(), first->circuit().id());
}

TEST_F(CommittedTest, ACircuitIsSeenUntilTheDataPlaneHasRemovedIt) {
  Begin();
  auto answer = Held([this] { return ReleaseCircuit(*controller_, first_.id()); });
  EXPECT_THAT(Inputs(), ElementsAre(1));
  EXPECT_EQ(List(*controller_)[0].id(), first_.id());
  board_.OpenGate();
  EXPECT_TRUE(answer.get().ok());
  EXPECT_THAT(Inputs(), IsEmpty());
}

TEST_F(CommittedTest, AMovedCircuitIsSeenOnItsOldPathUntilTheNewOneIsInstalled) {
  Begin();
  v1::MoveRequest move;
  move.set_id(first_.id());
  *move.add_avoid() = LinkOf(first_, 0);
  auto answer = Held([this, move] { return Move(move); });
  const auto rows_now = [this] {
    const v1::Circuit now = List(*controller_).at(0);
    return std::vector<Row>(now.rows().begin(), now.rows().end());
  };
  EXPECT_EQ(rows_now(), std::vector<Row>(first_.rows().begin(), first_.rows().end()));
  board_.OpenGate();
  const auto moved = answer.get();
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(rows_now(), std::vector<Row>(moved->rows().begin(), moved->rows().end()));
  EXPECT_NE(rows_now(), std::vector<Row>(first_.rows().begin(), first_.rows().end()));
}

TEST_F(CommittedTest, APlacementThatHasNotBegunByItsDeadlineIsNeverDone) {
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path(), 3'600'000);
  ASSERT_TRUE(Load(*controller_, RandomlyWired(16)).ok());
  const auto place = [this](uint64_t first, uint32_t count, std::chrono::milliseconds time) {
    v1::PlaceRequest request;
    request.set_first(first);
    request.set_count(count);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    v1::PlaceResponse response;
    const absl::Status status =
        FromGrpc(controller_->data_server->Place(&context, request, &response));
    return status.ok() ? absl::StatusOr<uint64_t>(response.objects()) : status;
  };
  EXPECT_EQ(*place(0, 4, std::chrono::seconds(30)), 4u);
  auto answer = Held([this] {
    v1::ObjectRequest request;
    request.set_user(3);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Request, request);
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(place(100, 2, std::chrono::milliseconds(200)).status()));
  // gRPC carries the time that is left, not the moment: the deadline of the server comes later than
  // the one of the client, by the time that the call took to arrive.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  board_.OpenGate();
  EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(*place(200, 1, std::chrono::seconds(30)), 5u);
}

// The data plane refuses a set-up that waits with the placement, so the placement is carried out
// once more, by itself.
TEST_F(CommittedTest, APlacementThatIsCarriedOutTwiceIsPlacedAndKept) {
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path(), 3'600'000);
  ASSERT_TRUE(Load(*controller_, RandomlyWired(16)).ok());
  const auto objects = [this] {
    return Call(*controller_->data_server, &v1::DataServer::Stub::Status,
                v1::DataServerStatusRequest())
        ->objects();
  };
  for (const uint32_t count : {8u, 5u}) {  // 5 replace the 8
    const Row held = count;
    auto first = Held([this, held] { return SetUpCircuit(*controller_, held, held); });
    auto refused =
        std::async(std::launch::async, [this] { return SetUpCircuit(*controller_, 3, 7); });
    v1::PlaceRequest request;
    request.set_count(count);
    request.set_copies(2);
    request.set_replace(count == 5);
    auto placed = std::async(std::launch::async, [this, request] {
      return Call(*controller_->data_server, &v1::DataServer::Stub::Place, request);
    });
    const Resources& resources = controller_->controller().resources();
    EXPECT_TRUE(Eventually(
        [&] { return resources.orders.in_use() == 2 && resources.calls.in_use() == 1; }));
    board_.RefuseInputs({3});
    board_.OpenGate();
    EXPECT_TRUE(first.get().ok());
    EXPECT_EQ(refused.get().status().code(), absl::StatusCode::kInternal);
    const auto answer = placed.get();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->objects(), count);
    EXPECT_EQ(objects(), count);
    controller_.reset();
    controller_ = std::make_unique<TestController>(directory_.path(), 3'600'000);
    EXPECT_EQ(objects(), count) << "after a restart";
  }
}

TEST_F(CommittedTest, ALinkIsSeenDownWhenTheDataPlaneHasTakenItDown) {
  Begin();
  const auto down = [this] {
    return Call(*controller_->fabric, &v1::Fabric::Stub::GetLinks, v1::GetLinksRequest())
        ->down_size();
  };
  auto answer = Held([this] { return SetLink(LinkOf(first_, 2), false); });
  EXPECT_EQ(down(), 0);
  EXPECT_THAT(Broken(), IsEmpty());
  board_.OpenGate();
  EXPECT_TRUE(answer.get().ok());
  EXPECT_EQ(down(), 1);
  EXPECT_EQ(Broken().size(), 1u);

  answer = Held([this] { return SetLink(LinkOf(first_, 2), true); });
  EXPECT_EQ(Broken().size(), 1u);
  board_.OpenGate();
  EXPECT_TRUE(answer.get().ok());
  EXPECT_THAT(Broken(), IsEmpty());
}

}  // namespace
}  // namespace bfly::control
