// SPDX-License-Identifier: Apache-2.0
// Agents that answer late, too late, or nonsense.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "control/controller/agent_answers.h"
#include "tests/control/scripted_agent.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

// Listens at an agent's socket in place of an agent that hangs: it accepts connections and never
// answers.
class Hanging {
 public:
  Hanging(const std::string& directory, const std::string& name)
      : path_(SocketPath(SocketAddress(directory, name))) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
  }
  // Whether somebody has connected.
  bool WasCalled() const {
    pollfd waiting = {.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, 0) != 0;
  }
  ~Hanging() {
    close(fd_);
    unlink(path_.c_str());
  }

 private:
  const std::string path_;
  int fd_;
};

class LateAgentsTest : public testing::Test {
 protected:
  static std::string ProblemOf(TestController& controller) {
    const v1::FabricStatus status = StatusOf(controller);
    return status.data_planes().empty() ? "" : status.data_planes(0).problem();
  }

  FakeBoard board_;
  TemporaryFolder directory_;
};

TEST_F(LateAgentsTest, AFabricOfAnAgentThatHungWhenTheControllerStartedIsTakenOverOnceItAnswers) {
  // Meanwhile another socket stands in place of the agent's own, because the socket of a stopped
  // process would hang.
  auto agent = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  {
    TestController before(directory_.path());
    ASSERT_TRUE(Load(before, SmallTopology()).ok());
    ASSERT_TRUE(SetUpCircuit(before, 3, 5).ok());
  }
  const std::string socket = SocketPath(SocketAddress(directory_.path(), "dp0"));
  std::filesystem::rename(socket, socket + ".aside");
  auto hanging = std::make_unique<Hanging>(directory_.path(), "dp0");
  TestController controller(directory_.path());
  EXPECT_FALSE(StatusOf(controller).loaded());
  hanging.reset();
  std::filesystem::rename(socket + ".aside", socket);
  EXPECT_TRUE(Eventually([&] { return StatusOf(controller).loaded(); }));
  EXPECT_TRUE(Eventually([&] { return List(controller).size() == 1; }));
  EXPECT_TRUE(SetUpCircuit(controller, 4, 6).ok());
}

TEST_F(LateAgentsTest, AgentsThatHangDelayNeitherTheStartNorTheLooksAtOthers) {
  using std::chrono::seconds;
  TemporaryFolder elsewhere;
  std::vector<std::unique_ptr<Hanging>> hanging;
  std::vector<std::string> addresses;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "hangs" + std::to_string(i);
    hanging.push_back(std::make_unique<Hanging>(elsewhere.path(), name));
    addresses.push_back(SocketAddress(elsewhere.path(), name));
  }
  ScriptedAgent agent(directory_.path(), "dp0");
  // Each of them is waited for 2 s, so all of them one after the other take 16 s.
  const auto start = std::chrono::steady_clock::now();
  TestController controller(directory_.path(), 20, PollOnlyWhenAsked(), addresses);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto loaded = std::chrono::steady_clock::now();
  const int looks = [&] {
    const std::lock_guard lock(agent.mutex);
    return agent.looks;
  }();
  ASSERT_TRUE(agent.Comes(looks + 4));
  EXPECT_LT(std::chrono::steady_clock::now() - loaded, seconds(10));
}

TEST_F(LateAgentsTest, TheSocketOfAVirtualMachineInTheRunDirectoryIsNotCalled) {
  const Hanging machine(directory_.path(), "vm0");
  TestAgent agent(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  ASSERT_TRUE(agent.host().Load(SmallTopology()).ok());
  TestController controller(directory_.path());
  EXPECT_TRUE(StatusOf(controller).loaded());
  EXPECT_FALSE(machine.WasCalled());
}

TEST_F(LateAgentsTest, ALoadWithoutAnAnswerIsUnloadedWhenItComesUpAllTheSame) {
  ScriptedAgent agent(directory_.path(), "dp0");
  {
    const std::lock_guard lock(agent.mutex);
    agent.may_load = false;
  }
  TestController controller(directory_.path());
  EXPECT_EQ(Load(controller, SmallTopology()).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(StatusOf(controller).loaded());
  {
    const std::lock_guard lock(agent.mutex);
    agent.may_load = true;
  }
  agent.changed.notify_all();
  agent.JoinLost();
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard lock(agent.mutex);
    return !agent.state.loaded() && agent.unloads == 1;
  }));
  // The same fabric may be loaded again, and stays.
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  EXPECT_TRUE(Eventually([&] { return StatusOf(controller).loaded(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::lock_guard lock(agent.mutex);
  EXPECT_TRUE(agent.state.loaded());
  EXPECT_EQ(agent.unloads, 1);
}

TEST_F(LateAgentsTest, AFabricThatWasNotUnloadedInTimeIsUnloadedOnceItsAgentAnswers) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto answer_unloads = [&](const grpc::Status& answer) {
    const std::lock_guard lock(agent.mutex);
    agent.unload_answer = answer;
  };
  answer_unloads({grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"});
  ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  EXPECT_FALSE(StatusOf(controller).loaded());
  {
    const std::lock_guard lock(agent.mutex);
    EXPECT_TRUE(agent.state.loaded());
  }
  answer_unloads(grpc::Status::OK);
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard lock(agent.mutex);
    return !agent.state.loaded() && agent.unloads == 1;
  }));
}

TEST_F(LateAgentsTest, AFabricRunsOnIfChecksOfTheNextOneLeaveNoTimeToLoadIt) {
  using std::chrono::milliseconds;
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  v1::Topology other = SmallTopology();
  other.set_name("other");
  agent.verify_time = milliseconds(900);
  const absl::Status late =
      controller.controller()
          .loader()
          .Load(other, {.replace = true}, 0, std::chrono::steady_clock::now() + milliseconds(1'000))
          .status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  EXPECT_FALSE(controller.Logged("could not be loaded again"));
  EXPECT_TRUE(SetUpCircuit(controller, 3, 5).ok());
  const std::lock_guard lock(agent.mutex);
  EXPECT_EQ(agent.unloads, 0);
  EXPECT_EQ(agent.state.topology().name(), "test");
}

TEST_F(LateAgentsTest, NonsenseInTheStateOfAnAgentIsAProblemInStatusAndNotBelieved) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  {
    const std::lock_guard lock(agent.mutex);
    agent.state.add_down_links()->set_stage(1'000'000);
    agent.state.set_revision(agent.state.revision() + 1);
  }
  EXPECT_TRUE(Eventually([&] { return !ProblemOf(controller).empty(); }));
  EXPECT_THAT(ProblemOf(controller), HasSubstr("down_links[0].stage: 1000000 is outside 0..7"));
  EXPECT_EQ(SetUpCircuit(controller, 3, 5).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(LateAgentsTest, NonsenseInCountersIsAProblemInStatusAndInTelemetry) {
  ScriptedAgent agent(directory_.path(), "dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  {
    const std::lock_guard lock(agent.mutex);
    agent.counters.set_last_stage(7);
    for (int i = 0; i < 256; ++i) agent.counters.add_packets(1);
    agent.counters.add_bytes(1);
    agent.reading.add_links(256);
  }
  const auto told =
      Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, v1::GetCountersRequest());
  ASSERT_TRUE(told.ok()) << told.status();
  ASSERT_EQ(told->problems_size(), 2);
  EXPECT_THAT(told->problems(0), HasSubstr("bytes: has 1 entries and packets 256"));
  EXPECT_THAT(told->problems(1), HasSubstr("links[0]: 256 is outside 0..255"));
  EXPECT_THAT(ProblemOf(controller), HasSubstr("bytes: has 1 entries and packets 256"));
}

// The fields are computed by hand, for a network of 8 stages, 16 rows and 2 ports.
TEST(AgentAnswers, EveryIndexIsHeldAgainstTheNetwork) {
  const Network network =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 16, .seed = 7});
  const auto problem = [](const absl::Status& status) { return std::string(status.message()); };
  v1::AgentCounters counters;
  EXPECT_TRUE(CheckAnswer(counters, network).ok());
  counters.set_first_stage(4);
  counters.set_last_stage(7);
  for (int i = 0; i < 4 * 32; ++i) {
    counters.add_packets(0);
    counters.add_bytes(0);
    counters.add_occupancy(0);
    counters.add_occupancy_peak(0);
  }
  EXPECT_TRUE(CheckAnswer(counters, network).ok());
  counters.set_first_stage(3);
  EXPECT_THAT(problem(CheckAnswer(counters, network)), HasSubstr("packets: has 128 entries"));
  counters.set_first_stage(4);
  counters.set_last_stage(8);
  EXPECT_THAT(problem(CheckAnswer(counters, network)), HasSubstr("last_stage: 8 is outside 0..7"));
  counters.set_last_stage(7);
  counters.add_busy_ns(1);
  EXPECT_THAT(problem(CheckAnswer(counters, network)), HasSubstr("busy_ns: has 1 entries"));
  counters.clear_busy_ns();
  counters.add_link_drops()->set_link(128);
  EXPECT_THAT(problem(CheckAnswer(counters, network)), HasSubstr("link_drops[0].link: 128"));
  counters.clear_link_drops();
  counters.add_workers()->add_stages(8);
  EXPECT_THAT(problem(CheckAnswer(counters, network)), HasSubstr("workers[0].stages: 8"));

  v1::AgentState state;
  v1::AgentCircuit* circuit = state.add_circuits();
  circuit->set_tag(255);
  EXPECT_TRUE(CheckAnswer(state, network).ok());
  circuit->set_tag(256);
  EXPECT_THAT(problem(CheckAnswer(state, network)), HasSubstr("circuits[0].tag: 256"));
  circuit->set_tag(0);
  circuit->set_input(16);
  EXPECT_THAT(problem(CheckAnswer(state, network)), HasSubstr("circuits[0].input: 16"));
  circuit->set_input(15);
  v1::LinkRef* link = state.add_down_links();
  EXPECT_TRUE(CheckAnswer(state, network).ok());
  link->set_port(2);
  EXPECT_THAT(problem(CheckAnswer(state, network)), HasSubstr("down_links[0].port: 2"));
  link->set_port(1);
  v1::NodeRef* node = state.add_down_nodes();
  node->set_level(8);
  EXPECT_TRUE(CheckAnswer(state, network).ok());
  node->set_level(9);
  EXPECT_THAT(problem(CheckAnswer(state, network)), HasSubstr("down_nodes[0].level: 9"));
  node->set_level(0);
  node->set_row(16);
  EXPECT_THAT(problem(CheckAnswer(state, network)), HasSubstr("down_nodes[0].row: 16"));

  v1::AgentInBandRequest request;
  request.add_inputs(3);
  request.add_outputs(5);
  v1::AgentInBandResponse response;
  EXPECT_THAT(problem(CheckAnswer(response, request, network)), HasSubstr("paths: has 0 entries"));
  v1::AgentInBandPath* path = response.add_paths();
  path->set_input(3);
  path->set_tag(0x75);
  EXPECT_TRUE(CheckAnswer(response, request, network).ok());
  path->set_tag(0x76);
  EXPECT_THAT(problem(CheckAnswer(response, request, network)), HasSubstr("leads to 6, not to 5"));
  path->set_tag(0x75);
  response.add_requests_left(1);
  EXPECT_THAT(problem(CheckAnswer(response, request, network)), HasSubstr("requests_left[0]: 1"));
  response.mutable_refusal()->set_stage(8);
  EXPECT_THAT(problem(CheckAnswer(response, request, network)), HasSubstr("refusal.stage: 8"));
}

}  // namespace
}  // namespace bfly::control
