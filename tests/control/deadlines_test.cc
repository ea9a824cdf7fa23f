// SPDX-License-Identifier: Apache-2.0
// Calls whose time ends while they wait for a lock or for a data plane that does not answer: they
// end in time, leave nothing half done, and are in nobody's way afterwards.
#include <gmock/gmock.h>

#include <chrono>
#include <future>

#include "tests/control/faults_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// dp0 runs stages 0 to 3 and has the board near_, dp1 runs stages 4 to 7 and has far_.
class DeadlinesTest : public testing::Test {
 protected:
  // A call to a data plane takes 5 s or more if it is not answered, so a call that ends sooner was
  // ended by its deadline.
  static constexpr milliseconds kShort{300}, kLonger{1'500}, kInTime{4'500};

  void Start(int watch_interval_ms = 20) {
    dp0_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(near_, "dp0"));
    dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(far_, "dp1"));
    controller_ = std::make_unique<TestController>(directory_.path(), watch_interval_ms);
    ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
  }
  void TearDown() override {
    near_.OpenGate();
    far_.OpenGate();
  }

  template <class Stub, class Request, class Response>
  absl::Status CallWithin(milliseconds time, Stub& stub,
                          grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                          const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    Response response;
    return FromGrpc((stub.*method)(&context, request, &response));
  }
  absl::Status SetLinks(milliseconds time) {
    v1::SetLinksRequest request;
    request.add_changes()->set_stages("5");
    request.mutable_changes(0)->set_rate("1Mbps");
    return CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::SetLinks, request);
  }
  absl::Status SetNodeDown(milliseconds time) {
    v1::SetNodeStateRequest request;
    request.set_level(4);
    request.set_row(6);
    return CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::SetNodeState, request);
  }
  absl::Status SetLinkDown(milliseconds time) {
    return CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::SetLinkState,
                      v1::SetLinkStateRequest());
  }
  absl::Status StartTraffic(milliseconds time) {
    v1::StartTrafficRequest request;
    request.add_sources()->set_latency(true);
    return CallWithin(time, *controller_->traffic, &v1::Traffic::Stub::Start, request);
  }
  absl::Status StopTraffic(milliseconds time) {
    return CallWithin(time, *controller_->traffic, &v1::Traffic::Stub::Stop,
                      v1::StopTrafficRequest());
  }
  absl::Status ListTraffic(milliseconds time) {
    return CallWithin(time, *controller_->traffic, &v1::Traffic::Stub::List,
                      v1::ListTrafficRequest());
  }
  absl::Status SetUpInBand(milliseconds time) {
    v1::SetUpRequest request;
    request.set_output(5);
    request.set_in_band(true);
    return CallWithin(time, *controller_->circuits, &v1::Circuits::Stub::SetUp, request);
  }
  absl::Status LoadOther(milliseconds time) {
    v1::LoadRequest request;
    *request.mutable_topology() = SmallTopology(/*split=*/true);
    request.mutable_topology()->set_name("other");
    request.set_replace(true);
    return CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::Load, request);
  }
  // `call` ends late, and the next change does not wait for what it waited for.
  template <class LateCall>
  void ExpectLate(LateCall call) {
    EXPECT_EQ(call(kShort).code(), absl::StatusCode::kDeadlineExceeded);
    const auto start = std::chrono::steady_clock::now();
    // The next change comes behind the late one, which the controller may not have begun yet.
    EXPECT_TRUE(AllCallsEnd(*controller_));
    v1::SetLinksRequest nothing;
    nothing.add_changes()->set_stages("99");
    const absl::Status next = CallWithin(milliseconds(60'000), *controller_->fabric,
                                         &v1::Fabric::Stub::SetLinks, nothing);
    EXPECT_EQ(next.code(), absl::StatusCode::kInvalidArgument) << next;
    EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime);
  }

  // Measures the time of what its block does.
  struct InTime {
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    InTime() = default;
    InTime(const InTime&) = delete;
    InTime& operator=(const InTime&) = delete;
    ~InTime() { EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime); }
  };
  // dp0 answers nothing until its gate opens.
  std::future<absl::Status> HangNear() {
    near_.CloseGate();
    auto hangs = std::async(std::launch::async, [this] {
      return dp0_->host().SetFault(LinkId{0, 1, 0}, /*down=*/true);
    });
    EXPECT_TRUE(Eventually([this] { return near_.SomethingWaits(); }));
    return hangs;
  }

  std::vector<v1::LinkRef> Down() {
    const auto links =
        Call(*controller_->fabric, &v1::Fabric::Stub::GetLinks, v1::GetLinksRequest());
    EXPECT_TRUE(links.ok()) << links.status();
    return {links->down().begin(), links->down().end()};
  }
  bool AllUsable() { return controller_->controller().all_usable(); }
  // Both data planes are in step again, and hold nothing of what the failed call was about.
  bool NothingIsLeft() {
    if (!AllUsable()) return false;
    for (TestAgent* agent : {dp0_.get(), dp1_.get()}) {
      const FabricHost::Held held = agent->host().held(/*full=*/true);
      if (!held.loaded || held.topology.name() != "test" || !held.down_links.empty() ||
          !held.down_nodes.empty() || !held.link_changes.empty() || !held.sources.empty()) {
        return false;
      }
      const auto traffic = agent->host().traffic();
      if (!traffic.ok() || traffic->latency.recording) return false;
    }
    return true;
  }

  TemporaryFolder directory_;
  FakeBoard near_, far_;
  std::unique_ptr<TestAgent> dp0_, dp1_;
  std::unique_ptr<TestController> controller_;
};

TEST_F(DeadlinesTest, NoCallWaitsForAChangeUnderWayLongerThanItsDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  near_.CloseGate();
  auto set_up = std::async(std::launch::async, [this] { return SetUpCircuit(*controller_, 3, 5); });
  ASSERT_TRUE(Eventually([&] { return near_.SomethingWaits(); }));
  constexpr milliseconds kWait{100};
  for (const absl::Status& late : {SetLinks(kWait), SetNodeDown(kWait), SetLinkDown(kWait),
                                   StartTraffic(kWait), StopTraffic(kWait), LoadOther(kWait)}) {
    EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  }
  EXPECT_TRUE(AllCallsEnd(*controller_));
  const auto start = std::chrono::steady_clock::now();
  v1::SetLinksRequest links;
  links.add_changes()->set_stages("5");
  links.mutable_changes(0)->set_rate("1Mbps");
  const auto late = controller_->controller().links().Set(links, start + kWait);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime);
  near_.OpenGate();
  EXPECT_TRUE(set_up.get().ok());
  // None of them is done now that nothing is in the way.
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 6).ok());
  EXPECT_TRUE(NothingIsLeft());
  EXPECT_THAT(List(*controller_), SizeIs(2));
}

TEST_F(DeadlinesTest, LinksThatADataPlaneDoesNotChangeInTimeAreAsBeforeEverywhere) {
  Start();
  far_.CloseGate();
  ExpectLate([this](milliseconds time) { return SetLinks(time); });
  far_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  ASSERT_TRUE(SetLinks(milliseconds(60'000)).ok());
  EXPECT_THAT(dp0_->host().held(true).link_changes, SizeIs(1));
  EXPECT_THAT(dp1_->host().held(true).link_changes, SizeIs(1));
}

TEST_F(DeadlinesTest, ANodeThatADataPlaneDoesNotTakeDownInTimeStaysUp) {
  Start();
  far_.CloseGate();
  ExpectLate([this](milliseconds time) { return SetNodeDown(time); });
  // dp1 takes its links down now, too late.
  far_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  ASSERT_TRUE(SetNodeDown(milliseconds(60'000)).ok());
  EXPECT_THAT(dp0_->host().held(true).down_nodes, SizeIs(1));
  EXPECT_THAT(dp1_->host().held(true).down_nodes, SizeIs(1));
}

TEST_F(DeadlinesTest, ALinkThatIsNotTakenDownInTimeStaysUp) {
  Start();
  near_.CloseGate();
  ExpectLate([this](milliseconds time) { return SetLinkDown(time); });
  near_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  EXPECT_THAT(Down(), IsEmpty());
  ASSERT_TRUE(SetLinkDown(milliseconds(60'000)).ok());
  EXPECT_THAT(Down(), SizeIs(1));
}

// Circuits move off a link before it goes down; the data plane does not move them.
TEST_F(DeadlinesTest, ALinkIsNotTakenDownAfterItsCircuitsCouldNotBeMovedInTime) {
  Start();
  v1::LoadRequest repair;
  *repair.mutable_topology() = SmallTopology(/*split=*/true);
  repair.mutable_topology()->mutable_circuits()->set_on_failure(v1::CircuitPolicy::REPAIR);
  repair.set_replace(true);
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Load, repair).ok());
  const auto circuit = SetUpCircuit(*controller_, 0, 7);
  ASSERT_TRUE(circuit.ok()) << circuit.status();
  const v1::LinkRef link = LinkOf(circuit->circuit(), 1);
  near_.CloseGate();
  ExpectLate([&](milliseconds time) {
    v1::SetLinkStateRequest request;
    request.set_stage(link.stage());
    request.set_row(link.row());
    request.set_port(link.port());
    return CallWithin(time, *controller_->fabric, &v1::Fabric::Stub::SetLinkState, request);
  });
  near_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  ExpectCountsEqualRecount(*controller_, dp0_.get());
  ASSERT_THAT(List(*controller_), SizeIs(1));
  EXPECT_EQ(List(*controller_)[0].id(), circuit->circuit().id());
}

TEST_F(DeadlinesTest, TrafficThatDoesNotStartInTimeDoesNotRun) {
  Start();
  near_.CloseGate();
  ExpectLate([this](milliseconds time) { return StartTraffic(time); });
  near_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  ASSERT_TRUE(StartTraffic(milliseconds(60'000)).ok());
  EXPECT_THAT(dp0_->host().held(true).sources, SizeIs(1));

  near_.CloseGate();
  ExpectLate([this](milliseconds time) { return StopTraffic(time); });
  near_.OpenGate();
  // It was not stopped, so it runs on.
  EXPECT_TRUE(
      Eventually([&] { return AllUsable() && dp0_->host().held(true).sources.size() == 1; }));
  ASSERT_TRUE(StopTraffic(milliseconds(60'000)).ok());
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(DeadlinesTest, TheListOfTrafficWaitsForNoDataPlaneLongerThanItsDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  near_.CloseGate();
  auto set_up = std::async(std::launch::async, [this] { return SetUpCircuit(*controller_, 3, 5); });
  ASSERT_TRUE(Eventually([&] { return near_.SomethingWaits(); }));
  const auto start = std::chrono::steady_clock::now();
  const auto listed = controller_->controller().traffic().List(/*histogram=*/false, start + kShort);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime);
  EXPECT_EQ(listed.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(listed.status().message()), HasSubstr("data plane dp0"));
  near_.OpenGate();
  EXPECT_TRUE(set_up.get().ok());
  EXPECT_TRUE(ListTraffic(milliseconds(60'000)).ok());
}

TEST_F(DeadlinesTest, ACallInBandWaitsForNoDataPlaneMuchLongerThanItsDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  auto hangs = HangNear();
  ExpectLate([this](milliseconds time) { return SetUpInBand(time); });
  EXPECT_FALSE(AllUsable());
  near_.OpenGate();
  EXPECT_TRUE(hangs.get().ok());
}

TEST_F(DeadlinesTest, ACallInBandDoesNotWaitLongerForADataPlaneToBeInStepAgain) {
  Start(/*watch_interval_ms=*/3'600'000);
  // Somebody else installed a circuit, and dp0 is too slow to remove it.
  ASSERT_TRUE(dp0_->host().UpdateCircuits({{.input = 3, .tag = 5, .id = 7}}, {}, 0).ok());
  near_.CloseGate();
  ExpectLate([this](milliseconds time) { return SetUpInBand(time); });
  EXPECT_FALSE(AllUsable());
}

TEST_F(DeadlinesTest, APictureOfTheCountersWaitsForNoDataPlaneLongerThanItsDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  CounterPoll poll(controller_->controller(), PollOnlyWhenAsked());
  ASSERT_TRUE(poll.Now(/*links=*/false).ok());
  far_.TakeLog();
  auto hangs = HangNear();
  {
    const InTime in_time;
    const auto picture = poll.Now(/*links=*/false, in_time.start + kLonger);
    ASSERT_TRUE(picture.ok()) << picture.status();
    EXPECT_THAT((*picture)->problems, ElementsAre(HasSubstr("data plane dp0: ")));
    EXPECT_THAT((*picture)->parts, SizeIs(2)) << "dp0 with its last figures";
  }
  {
    const InTime in_time;
    const auto fabric = poll.fabric();
    ASSERT_TRUE(fabric.ok());
    v1::Counters links;
    EXPECT_TRUE(poll.links().Read({}, *fabric, in_time.start + kLonger, &links).ok());
    EXPECT_THAT(links.problems(), ElementsAre(HasSubstr("data plane dp0: its links are missing")));
  }
  // Somebody with more time waits for dp0, after dp1 has answered.
  far_.TakeLog();
  auto patient = std::async(std::launch::async, [&] { return poll.Now(/*links=*/false); });
  ASSERT_TRUE(Eventually([this] { return !far_.TakeLog().empty(); }));
  {
    const InTime in_time;
    const auto picture = poll.Now(/*links=*/false, in_time.start + kLonger);
    EXPECT_EQ(picture.status().code(), absl::StatusCode::kDeadlineExceeded) << picture.status();
    const auto unloaded = poll.Unload(/*election_id=*/0, in_time.start + kLonger);
    EXPECT_EQ(unloaded.status().code(), absl::StatusCode::kDeadlineExceeded) << unloaded.status();
  }
  EXPECT_TRUE(controller_->controller().view(false).ok()) << "it is loaded yet";
  near_.OpenGate();
  EXPECT_TRUE(hangs.get().ok());
  ASSERT_TRUE(patient.get().ok());
}

TEST_F(DeadlinesTest, UnloadingTakesNoLastLookAtADataPlaneThatTakesAllItsTime) {
  Start(/*watch_interval_ms=*/3'600'000);
  CounterPoll poll(controller_->controller(), PollOnlyWhenAsked());
  auto hangs = HangNear();
  {
    const InTime in_time;
    const auto unloaded = poll.Unload(/*election_id=*/0, in_time.start + kLonger);
    ASSERT_TRUE(unloaded.ok()) << unloaded.status();
    EXPECT_THAT(unloaded->unknown(), ElementsAre(HasSubstr("dp0")));
  }
  near_.OpenGate();
  EXPECT_TRUE(hangs.get().ok());
}

TEST_F(DeadlinesTest, CallsThatReadCountersHoldNoThreadLongerThanTheirDeadline) {
  Start(/*watch_interval_ms=*/3'600'000);
  auto hangs = HangNear();
  // As many as there are threads that read.
  std::vector<std::future<absl::Status>> late;
  for (int i = 0; i < 4; ++i) {
    late.push_back(std::async(std::launch::async, [this, i] {
      return i < 2 ? CallWithin(kShort, *controller_->telemetry, &v1::Telemetry::Stub::GetCounters,
                                v1::GetCountersRequest())
                   : CallWithin(kShort, *controller_->fabric, &v1::Fabric::Stub::Status,
                                v1::StatusRequest());
    }));
  }
  for (auto& call : late) call.wait();
  const InTime in_time;
  EXPECT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Describe, v1::DescribeRequest()).ok());
  near_.OpenGate();
  EXPECT_TRUE(hangs.get().ok());
}

// While the data plane of stage 0 is not heard nobody knows what the links are like and what runs.
TEST_F(DeadlinesTest, AControllerThatHearsStage0LateComparesTheOtherDataPlanesAgain) {
  Start();
  ASSERT_TRUE(SetLinks(milliseconds(60'000)).ok());
  ASSERT_TRUE(StartTraffic(milliseconds(60'000)).ok());
  controller_.reset();
  auto hangs = HangNear();
  ASSERT_TRUE(dp1_->host().SetLinks({}).ok());
  ASSERT_TRUE(dp1_->host().SetSources({}, 0).ok());
  controller_ = std::make_unique<TestController>(directory_.path());
  EXPECT_TRUE(Eventually([this] { return dp1_->host().ownership().owner().id() != ""; }));
  near_.OpenGate();
  EXPECT_TRUE(hangs.get().ok());
  EXPECT_TRUE(Eventually([this] {
    return AllUsable() && dp1_->host().held(true).link_changes.size() == 1 &&
           dp1_->host().traffic()->latency.recording;
  }));
}

TEST_F(DeadlinesTest, AFabricThatIsNotLoadedInTimeLeavesTheOneBefore) {
  Start();
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  {
    const std::lock_guard lock(far_.mutex);
    far_.gates_loads = true;
  }
  far_.CloseGate();
  ExpectLate([this](milliseconds time) { return LoadOther(time); });
  // dp1 loads the other one now, too late.
  far_.OpenGate();
  EXPECT_TRUE(Eventually([&] { return NothingIsLeft(); }));
  ExpectCountsEqualRecount(*controller_, dp0_.get());
  EXPECT_THAT(List(*controller_), SizeIs(1));
  ASSERT_TRUE(LoadOther(milliseconds(60'000)).ok());
  EXPECT_EQ(dp1_->host().held(true).topology.name(), "other");
}

}  // namespace
}  // namespace bfly::control
