// SPDX-License-Identifier: Apache-2.0
// Host ports of a running fabric, added and removed by calls: every data plane hears of them, they
// are kept, and whoever comes back gets the present ones.
#include <gmock/gmock.h>

#include <random>
#include <set>

#include "control/controller/changed_ports.h"
#include "tests/control/events_fixture.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::HostPort Port(const std::string& name, const std::string& rows,
                  const std::string& data_plane = "") {
  v1::HostPort port;
  port.set_name(name);
  port.set_device("net_null_" + name);
  port.set_rows(rows);
  port.set_data_plane(data_plane);
  return port;
}

class PortsServiceTest : public testing::Test {
 protected:
  PortsServiceTest() { Start(); }
  void Start() { controller_ = std::make_unique<TestController>(directory_.path()); }
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }
  // 16 rows. Rows 0 and 1 have ports from the beginning; on a split fabric they are inputs.
  static v1::Topology WithPorts(bool split = false) {
    v1::Topology topology = SmallTopology(split);
    *topology.add_ports() = Port("h0", "0", "dp0");
    *topology.add_ports() = Port("h1", "1", "dp0");
    return topology;
  }
  absl::StatusOr<v1::AddPortResponse> Add(const v1::HostPort& port, uint64_t election_id = 0) {
    v1::AddPortRequest request;
    *request.mutable_port() = port;
    request.set_election_id(election_id);
    return Call(*controller_->fabric, &v1::Fabric::Stub::AddPort, request);
  }
  absl::StatusOr<v1::RemovePortResponse> Remove(const std::string& name, uint64_t election_id = 0) {
    v1::RemovePortRequest request;
    request.set_name(name);
    request.set_election_id(election_id);
    return Call(*controller_->fabric, &v1::Fabric::Stub::RemovePort, request);
  }
  v1::GetPortsResponse Get() {
    const auto ports =
        Call(*controller_->fabric, &v1::Fabric::Stub::GetPorts, v1::GetPortsRequest());
    EXPECT_TRUE(ports.ok()) << ports.status();
    return ports.value_or(v1::GetPortsResponse());
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const v1::GetPortsResponse ports = Get();
    for (const v1::AttachedPort& port : ports.ports()) names.push_back(port.port().name());
    return names;
  }
  // What a data plane really has.
  static std::vector<std::string> PortsOf(TestAgent& agent) {
    std::vector<std::string> names;
    agent.host().Read([&](const dataplane::Fabric& fabric) {
      for (const auto& port : fabric.host_ports()) names.push_back(port.name);
    });
    return names;
  }
  absl::StatusOr<v1::LoadResponse> Resume(const v1::Topology& topology) {
    v1::LoadRequest request;
    *request.mutable_topology() = topology;
    request.set_resume(true);
    return Call(*controller_->fabric, &v1::Fabric::Stub::Load, request);
  }
  std::vector<std::string> ChangesOfPorts() {
    std::vector<std::string> changes;
    for (const std::string& line : board_.TakeLog()) {
      if (line.rfind("add", 0) == 0 || line.rfind("remove", 0) == 0) changes.push_back(line);
    }
    return changes;
  }

  FakeBoard board_;
  TemporaryFolder directory_;
  std::unique_ptr<TestAgent> dp0_ = Agent("dp0");
  std::unique_ptr<TestController> controller_;
};

TEST_F(PortsServiceTest, APortComesAndGoes) {
  EXPECT_THAT(std::string(Add(Port("h2", "2")).status().message()),
              HasSubstr("no fabric is loaded"));
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  const auto added = Add(Port("h2", "2"));
  ASSERT_TRUE(added.ok()) << added.status();
  // What was left out is filled in.
  EXPECT_EQ(added->port().port().data_plane(), "dp0");
  EXPECT_EQ(added->port().port().queue_pairs(), 1u);
  EXPECT_TRUE(added->port().port().translate_mac());
  EXPECT_TRUE(added->port().added());
  EXPECT_EQ(added->port().status().name(), "h2");
  EXPECT_THAT(Names(), ElementsAre("h0", "h1", "h2"));
  EXPECT_FALSE(Get().ports(0).added());
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h0", "h1", "h2"));
  const auto removed = Remove("h0");
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->port().port().rows(), "0");
  EXPECT_THAT(Names(), ElementsAre("h1", "h2"));
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h1", "h2"));
  EXPECT_THAT(ChangesOfPorts(), ElementsAre("add h2 to dp0", "remove h0 from dp0"));
  // Its row is free again.
  EXPECT_TRUE(Add(Port("other", "0")).ok());
}

TEST_F(PortsServiceTest, EventsTellOfThePortsThatCameAndWent) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  EventWatcher watcher(*controller_, OnlyEvents(v1::Event::PORT));
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  EXPECT_FALSE(Add(Port("h3", "2")).ok());  // the row has a port
  ASSERT_TRUE(Remove("h0").ok());
  EXPECT_FALSE(Remove("h0").ok());
  ASSERT_TRUE(Add(Port("h4", "4")).ok());
  EXPECT_EQ(watcher.Next()->text(), "port h2 of data plane dp0 added");
  const v1::Event removed = *watcher.Next();
  EXPECT_EQ(removed.port().change(), v1::PortEvent::REMOVED);
  EXPECT_EQ(removed.port().port(), "h0");
  EXPECT_EQ(removed.severity(), v1::Event::INFO);
  EXPECT_EQ(removed.text(), "port h0 of data plane dp0 removed");
  EXPECT_EQ(watcher.Next()->port().port(), "h4");
}

TEST_F(PortsServiceTest, WrongPortsNameTheirFieldsAndChangeNothing) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  board_.TakeLog();
  const auto fields = [&](const v1::HostPort& port) { return FieldsOf(Add(port).status()); };
  EXPECT_THAT(fields(Port("h2", "1")), ElementsAre("port.rows"));
  EXPECT_THAT(std::string(Add(Port("h2", "1")).status().message()),
              HasSubstr("row 1 is attached to ports[1] already"));
  EXPECT_THAT(fields(Port("h2", "16")), ElementsAre("port.rows"));
  EXPECT_THAT(fields(Port("h2", "")), ElementsAre("port.rows"));
  // The device goes by the name of the port.
  EXPECT_THAT(fields(Port("h0", "2")), ElementsAre("port.name", "port.device"));
  EXPECT_THAT(fields(Port("h2", "2", "dp7")), ElementsAre("port.data_plane"));
  v1::HostPort many = Port("h2", "2");
  many.set_queue_pairs(65);
  EXPECT_THAT(fields(many), ElementsAre("port.queue_pairs"));
  v1::HostPort taken = Port("h2", "2");
  taken.set_device("net_af_xdp,iface=bf0");
  ASSERT_TRUE(Add(taken).ok());
  v1::HostPort same = Port("h3", "3");
  same.set_device("net_af_xdp,iface=bf0");
  EXPECT_THAT(fields(same), ElementsAre("port.device"));
  ASSERT_TRUE(Remove("h2").ok());
  board_.TakeLog();
  // What only the data plane finds.
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_devices = {"net_null_h2"};
  }
  const absl::Status refused = Add(Port("h2", "2")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("port.device: cannot open"));
  EXPECT_EQ(Remove("nobody").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(FieldsOf(Remove("nobody").status()), ElementsAre("name"));
  EXPECT_THAT(FieldsOf(Add(Port("h4", "4"), 5).status()), ElementsAre("election_id"));
  EXPECT_THAT(FieldsOf(Remove("h0", 5).status()), ElementsAre("election_id"));
  EXPECT_THAT(ChangesOfPorts(), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("h0", "h1"));
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h0", "h1"));
}

TEST_F(PortsServiceTest, AllDataPlanesHearOfAPortOrNone) {
  auto dp1 = Agent("dp1");
  ASSERT_TRUE(Load(*controller_, WithPorts(/*split=*/true)).ok());
  board_.TakeLog();
  ASSERT_TRUE(Add(Port("out1", "1", "dp1")).ok());
  auto log = board_.TakeLog();
  EXPECT_THAT(log, testing::Contains("add out1 to dp1"));
  // Floods of the inputs go to its row from now on.
  EXPECT_THAT(log, testing::Contains("elsewhere of dp0 1"));
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_devices = {"net_null_out2"};
  }
  EXPECT_FALSE(Add(Port("out2", "2", "dp1")).ok());
  log = board_.TakeLog();
  EXPECT_THAT(log, testing::Contains("elsewhere of dp0 2")) << "it was asked first";
  EXPECT_EQ(dp0_->host().held(true).topology.ports_size(), 3) << "and has the ports of before";
  EXPECT_EQ(dp1->host().held(true).topology.ports_size(), 3);
  EXPECT_THAT(Names(), ElementsAre("h0", "h1", "out1"));
}

TEST_F(PortsServiceTest, ADataPlaneThatRefusesAPortOrDoesNotAnswerIsNamed) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_devices = {"net_null_h2"};
  }
  const absl::Status refused = Add(Port("h2", "2")).status();
  EXPECT_THAT(std::string(refused.message()), testing::StartsWith("data plane dp0: port.device: "));
  EXPECT_THAT(FieldsOf(refused), ElementsAre("port.device"));
  board_.CloseGate();
  v1::AddPortRequest request;
  *request.mutable_port() = Port("h3", "3");
  const absl::Status late =
      controller_->controller()
          .ports()
          .Add(request, std::chrono::steady_clock::now() + std::chrono::seconds(3))
          .status();
  board_.OpenGate();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), testing::StartsWith("data plane dp0: "));
}

TEST_F(PortsServiceTest, ADataPlaneThatComesBackGetsThePresentPorts) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  ASSERT_TRUE(Remove("h1").ok());
  dp0_.reset();
  dp0_ = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return PortsOf(*dp0_) == std::vector<std::string>{"h0", "h2"}; }));
}

TEST_F(PortsServiceTest, AControllerThatComesBackTakesThemOver) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  ASSERT_TRUE(Remove("h1").ok());
  controller_.reset();
  board_.TakeLog();
  Start();
  EXPECT_THAT(Names(), ElementsAre("h0", "h2"));
  EXPECT_TRUE(Get().ports(1).added()) << "it knows what the topology did not have";
  EXPECT_TRUE(SetUpCircuit(*controller_, 3, 5).ok());
  EXPECT_THAT(ChangesOfPorts(), IsEmpty());
  // What is kept says so, too: the file of the topology is brought to these ports again.
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  ASSERT_TRUE(Resume(WithPorts()).ok());
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h0", "h2"));
}

TEST_F(PortsServiceTest, AreKeptOverTheEndOfEverything) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  ASSERT_TRUE(Remove("h1").ok());
  const auto last = Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->kept().port_changes(), 2u);
  controller_.reset();
  dp0_.reset();
  dp0_ = Agent("dp0");
  Start();
  const auto resumed = Resume(WithPorts());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->resumed().port_changes(), 2u);
  EXPECT_THAT(Names(), ElementsAre("h0", "h2"));
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h0", "h2"));
  // A file in which the row of the added port has got another port does not fit any more.
  ASSERT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  v1::Topology changed = WithPorts();
  *changed.add_ports() = Port("new", "2");
  const absl::Status misfit = Resume(changed).status();
  EXPECT_EQ(misfit.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(misfit.message()), HasSubstr("a change of ports does not fit"));
}

TEST_F(PortsServiceTest, AfterAKillAndARebootTheStoreKnowsThem) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  ASSERT_TRUE(Remove("h0").ok());
  controller_.reset();
  dp0_.reset();
  dp0_ = Agent("dp0");
  Start();
  controller_->controller().loader().ResumeLast();
  EXPECT_TRUE(Eventually([&] { return PortsOf(*dp0_) == std::vector<std::string>{"h1", "h2"}; }));
  EXPECT_THAT(Names(), ElementsAre("h1", "h2"));
}

TEST_F(PortsServiceTest, ADataPlaneThatMissedAChangeIsPutRight) {
  ASSERT_TRUE(Load(*controller_, WithPorts()).ok());
  ASSERT_TRUE(Add(Port("h2", "2")).ok());
  // The data plane has other ports, as after a change that was taken back while it was away.
  v1::AgentPortsRequest request;
  *request.add_ports() = dp0_->host().held(true).topology.ports(0);
  ASSERT_TRUE(dp0_->host().SetPorts(request).ok());
  EXPECT_THAT(PortsOf(*dp0_), ElementsAre("h0"));
  for (const auto& plane : controller_->controller().intent().planes()) {
    plane->Learn([](DataPlane::Known& known) { known.in_step = false; });
  }
  const std::vector<std::string> all = {"h0", "h1", "h2"};
  EXPECT_TRUE(Eventually([&] { return PortsOf(*dp0_) == all; }));
  EXPECT_EQ(dp0_->host().held(true).port_changes.added_size(), 1);
}

// The host that has the port goes with it.
TEST_F(PortsServiceTest, APortOfAHostCanBeRemoved) {
  v1::Topology topology = SmallTopology();
  v1::Host* host = topology.add_hosts();
  host->set_name("alice");
  host->set_rows("3");
  ASSERT_TRUE(Load(*controller_, topology).ok());
  EXPECT_THAT(Names(), ElementsAre("alice"));
  ASSERT_TRUE(Remove("alice").ok());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(PortsOf(*dp0_), IsEmpty());
  ASSERT_TRUE(Add(Port("bob", "3")).ok());
}

// The name and the rows of each port.
std::set<std::pair<std::string, std::string>> PortsIn(const v1::Topology& topology) {
  std::set<std::pair<std::string, std::string>> ports;
  for (const v1::HostPort& port : topology.ports()) ports.emplace(port.name(), port.rows());
  return ports;
}

// Whatever was added and removed, and in whichever order: what is kept of it makes the file's ports
// those that there were last.
TEST(PortChanges, MakeTheFilesPortsThePresentOnes) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    v1::Topology file = SmallTopology();
    for (const char* row : {"0", "1", "2", "3"})
      *file.add_ports() = Port("h" + std::string(row), row, "dp0");
    v1::Topology present = file;
    v1::PortChanges changes;
    for (int step = 0; step < 30; ++step) {
      const std::string name = "h" + std::to_string(random() % 6);
      v1::Topology next = present;
      if (random() % 2 == 0) {
        if (!RemovePortFrom(name, &next).ok()) continue;
        NoteRemoved(name, &changes);
      } else {
        const v1::HostPort port = Port(name, std::to_string(random() % 6), "dp0");
        if (!AddPortTo(port, &next).ok()) continue;
        NoteAdded(port, &changes);
      }
      present = next;
      v1::Topology resumed = file;
      ASSERT_TRUE(ApplyPortChanges(changes, &resumed).ok())
          << "round " << round << ": " << changes.ShortDebugString();
      ASSERT_EQ(PortsIn(resumed), PortsIn(present)) << "round " << round;
      // They can be made once more.
      ASSERT_TRUE(ApplyPortChanges(changes, &resumed).ok());
      ASSERT_EQ(PortsIn(resumed), PortsIn(present)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace bfly::control
