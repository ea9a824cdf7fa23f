// SPDX-License-Identifier: Apache-2.0
// When the controller looks at data planes, and what it takes an answer for that is late or
// missing.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>

#include "tests/control/scripted_agent.h"

namespace bfly::control {
namespace {

// At the end of a test the controller waits for the looks under way.
class AnswersInTheEnd {
 public:
  explicit AnswersInTheEnd(ScriptedAgent& agent) : agent_(agent) {}
  ~AnswersInTheEnd() { agent_.AnswerLooks(ScriptedAgent::kAll); }

 private:
  ScriptedAgent& agent_;
};

class LateLooksTest : public testing::Test {
 protected:
  static std::string ProblemOf(TestController& controller) {
    const v1::FabricStatus status = StatusOf(controller);
    return status.data_planes().empty() ? "" : status.data_planes(0).problem();
  }

  TemporaryFolder directory_;
};

TEST_F(LateLooksTest, AnAgentThatAnswersLateIsSuspectAndWorksOn) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::milliseconds(50), .late = 1'000'000});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  agent.HoldLooks();
  EXPECT_TRUE(Eventually([&] { return ProblemOf(controller).starts_with("answers late: "); }));
  EXPECT_EQ(StatusOf(controller).data_planes(0).state(), v1::DataPlaneStatus::RUNNING);
  EXPECT_TRUE(SetUpCircuit(controller, 3, 5).ok());
  agent.AnswerLooks(ScriptedAgent::kAll);
  EXPECT_TRUE(Eventually([&] { return ProblemOf(controller).empty(); }));
  EXPECT_TRUE(SetUpCircuit(controller, 4, 6).ok());
  EXPECT_TRUE(controller.Logged("data plane dp0 answers late"));
  EXPECT_FALSE(controller.Logged("cannot be reached"));
}

TEST_F(LateLooksTest, AnAgentThatHangsIsGoneAfterTheLooksThatItMayMiss) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::milliseconds(50), .late = 4});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const int before = agent.HoldLooks();
  EXPECT_TRUE(Eventually([&] {
    return StatusOf(controller).data_planes(0).state() == v1::DataPlaneStatus::UNREACHABLE;
  }));
  EXPECT_TRUE(controller.Logged("cannot be reached: Deadline Exceeded, 4 times in a row"));
  {
    const std::lock_guard lock(agent.mutex);
    EXPECT_GE(agent.looks, before + 4);
  }
  EXPECT_EQ(SetUpCircuit(controller, 3, 5).status().code(), absl::StatusCode::kUnavailable);
  agent.AnswerLooks(ScriptedAgent::kAll);
  EXPECT_TRUE(Eventually([&] { return SetUpCircuit(controller, 3, 5).ok(); }));
}

TEST_F(LateLooksTest, LooksThatAreMissedNowAndThenDoNotAddUp) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 5, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::milliseconds(300), .late = 4});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  for (int missed = 0; missed < 4; ++missed) {
    const int look = agent.HoldOneLook();
    ASSERT_TRUE(agent.Comes(look + 2));
  }
  EXPECT_TRUE(controller.Logged("data plane dp0 answers late"));
  EXPECT_FALSE(controller.Logged("cannot be reached"));
}

TEST_F(LateLooksTest, AnAgentWhoseProcessEndsIsGoneAtOnce) {
  auto agent = std::make_unique<ScriptedAgent>(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::hours(1), .late = 1'000'000});
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  agent.reset();
  EXPECT_TRUE(Eventually([&] {
    return StatusOf(controller).data_planes(0).state() == v1::DataPlaneStatus::UNREACHABLE;
  }));
}

// The answer to a look may be older than a set-up. The controller knows that, and does not ask
// again while it keeps others from changing anything.
TEST_F(LateLooksTest, ASetUpWaitsForNoLook) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::hours(1), .late = 3});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const int look = agent.HoldLooks() + 1;
  ASSERT_TRUE(agent.Comes(look));
  ASSERT_TRUE(SetUpCircuit(controller, 3, 5).ok());
  agent.AnswerLooks(look);
  ASSERT_TRUE(agent.Comes(look + 1));
  EXPECT_TRUE(SetUpCircuit(controller, 4, 6).ok());
  EXPECT_EQ(ProblemOf(controller), "");
}

// The scripted agent does not know SetLinkState, and no look compares it in the meantime.
TEST_F(LateLooksTest, AChangeOfALinkThatFailedIsTheReasonWhyTheNextChangeIsRefused) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::hours(1), .late = 3});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  ASSERT_TRUE(agent.Comes(agent.HoldLooks() + 1));
  EXPECT_FALSE(
      Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, v1::SetLinkStateRequest()).ok());
  const absl::Status refused = SetUpCircuit(controller, 3, 5).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              testing::AllOf(testing::HasSubstr("data plane dp0"),
                             testing::Not(testing::HasSubstr("not reached yet"))));
}

TEST_F(LateLooksTest, OnlyADataPlaneThatAnsweredLeavesNoDoubtOfWhatItDid) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto refusal = [&](grpc::StatusCode code) {
    {
      const std::lock_guard lock(agent.mutex);
      agent.update_answer = {code, "said so"};
    }
    absl::Status status;
    // The data plane is compared after each time that it did not answer.
    EXPECT_TRUE(Eventually([&] {
      status = SetUpCircuit(controller, 3, 5).status();
      return status.message().find("said so;") != std::string::npos;
    }));
    return status;
  };
  const absl::Status refused = refusal(grpc::StatusCode::INTERNAL);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(refused.message()), testing::EndsWith("; nothing was changed"));
  const absl::Status late = refusal(grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(late.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(late.message()),
              testing::EndsWith("; it may have been done there, and is undone as soon as the data "
                                "plane answers"));
}

// While one fabric replaces another, a look may find the data plane idle.
TEST_F(LateLooksTest, ALookFromBeforeALoadDoesNotHideWhatTheLoadLearned) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::hours(1), .late = 3});
  const AnswersInTheEnd in_the_end(agent);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  int look = 0;
  {
    const std::lock_guard lock(agent.mutex);
    agent.state.set_loaded(false);
    look = agent.held_look = agent.looks + 1;
  }
  ASSERT_TRUE(agent.Comes(look));
  {
    const std::lock_guard lock(agent.mutex);
    agent.state.set_loaded(true);
  }
  ASSERT_TRUE(Load(controller, SmallTopology(), /*replace=*/true).ok());
  ASSERT_TRUE(agent.Comes(agent.HoldOneLook()));
  EXPECT_EQ(StatusOf(controller).data_planes(0).state(), v1::DataPlaneStatus::RUNNING);
}

TEST_F(LateLooksTest, ADataPlaneThatHangsDelaysTheLookAtNoOther) {
  ScriptedAgent hangs(directory_.path(), "dp0");
  ScriptedAgent works(directory_.path(), "dp1");
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), {},
                            {.time = std::chrono::hours(1), .late = 3});
  const AnswersInTheEnd one(hangs), other(works);
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  const int look = works.HoldLooks() + 1;
  ASSERT_TRUE(works.Comes(look));
  // Both have as many looks, so the look at dp0 in this round is not the one that hangs.
  ASSERT_TRUE(hangs.Comes(look));
  const int before = hangs.HoldLooks();
  works.AnswerLooks(ScriptedAgent::kAll);
  ASSERT_TRUE(hangs.Comes(before + 1));
  EXPECT_TRUE(works.Comes(look + 1));
}

}  // namespace
}  // namespace bfly::control
