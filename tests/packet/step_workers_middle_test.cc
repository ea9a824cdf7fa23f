// SPDX-License-Identifier: Apache-2.0
// What may happen while workers run a step program: data comes, a link fails, the caller or a
// worker goes away, another caller comes.
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <thread>

#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/step_workers/loaded_step_programs.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/slow_inlet.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

// 64 packets an input, which takes hundreds of steps, on two workers. The worker of the upper rows
// is slow, so a step takes most of a millisecond, and once packets have been delivered a step takes
// a twentieth of a second: the test has many seconds for what it does in the middle.
class StepWorkersInTheMiddle : public testing::Test {
 protected:
  void SetUp() override {
    const FabricConfig config = Halves(NetworkKind::kButterfly, 64);
    auto fabric =
        LoadedFabric::Load(config, [this](const Network&, const RouteTable&, RowRange rows) {
          return std::make_unique<SlowInlet>(rows.first == 0 ? unused_ : speed_);
        });
    ASSERT_TRUE(fabric.ok()) << fabric.status();
    fabric_ = *std::move(fabric);
    programs_ = *fabric_->step_programs();
    // Several workers on a busy CPU take a while to wait for each other a thousand times.
    dynamic_cast<LoadedStepPrograms*>(programs_)->crew().set_fewest_barriers(10);
    speed_.brakes = [this] { return fabric_->summary().conservation.delivered > 100; };
    speed_.slow = true;
  }
  void TearDown() override {
    speed_.slow = speed_.stall = false;
    if (caller_.joinable()) caller_.join();
  }

  absl::StatusOr<StepRun> RunLong() {
    return programs_->Run(program_, faults_.value_or(FaultSet(fabric_->network())),
                          {.relation = *RelationByName("random", 64, 64, 3)}, {},
                          [this] { return cancel_.load(); });
  }
  void Start() {
    caller_ = std::thread([this] { result_ = RunLong(); });
    WaitUntil(*fabric_, [](const Snapshot& s) { return s.conservation.delivered > 100; });
  }
  absl::Status Join() {
    caller_.join();
    return result_.status();
  }
  // What was begun has been dropped for one reason, unless it was delivered.
  void ExpectDropped(DropReason reason) {
    const Snapshot s = fabric_->snapshot();
    ExpectConserved(s);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    EXPECT_EQ(s.conservation.injected, 4096u);
    EXPECT_LT(s.conservation.delivered, 4096u);
    EXPECT_EQ(DroppedBy(s, reason), 4096 - s.conservation.delivered);
  }
  // The workers still run programs and data.
  void ExpectWorks() {
    speed_.slow = speed_.stall = false;
    const Conservation before = fabric_->summary().conservation;
    cancel_ = false;
    const absl::StatusOr<StepRun> run = RunLong();
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_TRUE(run->report.finished);
    EXPECT_EQ(fabric_->summary().conservation.delivered, before.delivered + 4096);
    ASSERT_TRUE(fabric_->SetSources(AllPairs(fabric_->network())).ok());
    WaitForDeliveries(*fabric_, before.injected + 4096 + 4096);
  }

  SlowInlet::Speed speed_, unused_;
  std::atomic<bool> cancel_{false};
  const char* program_ = "store_and_forward";
  std::unique_ptr<LoadedFabric> fabric_;
  std::optional<FaultSet> faults_;  // what runs are told of links; empty: all are up
  StepPrograms* programs_ = nullptr;
  std::thread caller_;
  absl::StatusOr<StepRun> result_ = absl::InternalError("not run");
};

TEST_F(StepWorkersInTheMiddle, PacketsAreInTheAccountAtEveryMoment) {
  Start();
  uint64_t most = 0;
  const Snapshot end = WaitUntil(*fabric_, [&](const Snapshot& s) {
    most = std::max(most, s.conservation.in_flight);
    if (s.conservation.delivered > 120) speed_.slow = false;
    return s.conservation.delivered == 4096;
  });
  EXPECT_TRUE(Join().ok());
  EXPECT_GT(most, 1000u);
  EXPECT_EQ(end.conservation.injected, 4096u);
}

TEST_F(StepWorkersInTheMiddle, DataFlowsOn) {
  SourceConfig source;
  source.rows = AllRows(64);
  source.packets_per_second = 1000;
  source.destination = SourceConfig::Destination::kUniform;
  ASSERT_TRUE(fabric_->SetSources({source}).ok());
  Start();
  uint64_t sent = fabric_->sources()[0].packets;
  WaitUntil(*fabric_, [&](const Snapshot&) { return fabric_->sources()[0].packets > sent + 500; });
  speed_.slow = false;
  EXPECT_TRUE(Join().ok());
  ASSERT_TRUE(fabric_->SetSources({}).ok());
  const Snapshot s =
      WaitUntil(*fabric_, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  EXPECT_EQ(s.conservation.injected, s.conservation.delivered);
  EXPECT_GT(s.conservation.injected, 4096 + 500u);
}

TEST_F(StepWorkersInTheMiddle, ALinkThatFailsEndsTheRunAndIsNamed) {
  Start();
  ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, false).ok());
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("link s2 r5 p1 went down after step "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("run it again: it goes around links"));
  ExpectDropped(DropReason::kLinkDown);
  ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, true).ok());
  ExpectWorks();
}

TEST_F(StepWorkersInTheMiddle, AProgramThatDoesNotGoAroundLinksSaysSo) {
  for (const char* program : {"greedy", "extra_stages"}) {
    SCOPED_TRACE(program);
    program_ = program;
    faults_.reset();
    const uint64_t before = fabric_->summary().conservation.delivered;
    speed_.slow = true;
    caller_ = std::thread([this] { result_ = RunLong(); });
    WaitUntil(*fabric_, [&](const Snapshot& s) { return s.conservation.delivered > before + 100; });
    ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, false).ok());
    absl::Status status = Join();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("run it again when all links are up"));
    faults_.emplace(fabric_->network());
    faults_->SetLinkUp({2, 5, 1}, false);
    status = RunLong().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("bring them up"));
    ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, true).ok());
  }
  faults_.reset();
  ExpectWorks();
}

TEST_F(StepWorkersInTheMiddle, ALinkThatStaysAsItIsDoesNotEndTheRun) {
  Start();
  ASSERT_TRUE(fabric_->SetLinkUp({2, 5, 1}, true).ok());
  speed_.slow = false;
  EXPECT_TRUE(Join().ok());
}

TEST_F(StepWorkersInTheMiddle, ACallerThatCancelsEndsTheRun) {
  Start();
  cancel_ = true;
  EXPECT_EQ(Join().code(), absl::StatusCode::kCancelled);
  ExpectDropped(DropReason::kUnloaded);
  ExpectWorks();
}

TEST_F(StepWorkersInTheMiddle, AFabricThatIsUnloadedEndsTheRun) {
  Start();
  ASSERT_TRUE(fabric_->Unload().ok());
  EXPECT_EQ(Join().code(), absl::StatusCode::kUnavailable);
  ExpectDropped(DropReason::kUnloaded);
}

TEST_F(StepWorkersInTheMiddle, ASecondCallerWaits) {
  Start();
  absl::StatusOr<StepRun> second = absl::InternalError("not run");
  std::thread caller([&] { second = RunLong(); });
  // It would have begun its packets by now.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(fabric_->summary().conservation.injected, 4096u);
  speed_.slow = false;
  EXPECT_TRUE(Join().ok());
  caller.join();
  EXPECT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(fabric_->summary().conservation.delivered, 2 * 4096u);
}

TEST_F(StepWorkersInTheMiddle, ASecondCallerMayCancelWhileItWaits) {
  Start();
  EXPECT_EQ(programs_
                ->Run("waves", FaultSet(fabric_->network()),
                      {.relation = *RelationByName("random", 64, 1, 3)}, {}, [] { return true; })
                .status()
                .code(),
            absl::StatusCode::kCancelled);
  speed_.slow = false;
  EXPECT_TRUE(Join().ok());
  EXPECT_EQ(fabric_->summary().conservation.injected, 4096u);
}

TEST_F(StepWorkersInTheMiddle, AWorkerThatDoesNotAnswerIsNamedAndTheRunGivenUp) {
  static_cast<LoadedStepPrograms*>(programs_)->set_patience(std::chrono::seconds(2));
  Start();
  speed_.stall = true;
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  const int lcore = fabric_->config().placement[1].lcore;
  const std::string name = "the worker on lcore " + std::to_string(lcore);
  EXPECT_THAT(std::string(status.message()), HasSubstr(name + " made no pass"));
  const absl::Status again = RunLong().status();
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.message()), HasSubstr(name));
  speed_.slow = speed_.stall = false;
  WaitUntil(*fabric_, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
  ExpectDropped(DropReason::kUnloaded);
  // The run has let go of its packets, and ends a little later.
  while (absl::IsFailedPrecondition(RunLong().status())) std::this_thread::yield();
  EXPECT_EQ(fabric_->summary().conservation.delivered % 4096,
            4096 - DroppedBy(fabric_->summary(), DropReason::kUnloaded));
}

}  // namespace
}  // namespace bfly::dataplane
