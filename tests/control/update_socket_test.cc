// SPDX-License-Identifier: Apache-2.0
// Updates of circuits past gRPC: they have the same outcome, and the other side may be gone, silent
// or wrong in every way.
#include "control/agent/update_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "control/controller/update_client.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;

class UpdateSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    StartAgent();
    ASSERT_TRUE(agent_->host().Load(SmallTopology()).ok());
  }
  void StartAgent() {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  }
  std::string address() const { return SocketAddress(directory_.path(), "dp0"); }
  uint64_t revision() { return agent_->host().held(false).revision; }
  PacketSocket Connect() {
    return *PacketSocket::Connect(UpdateSocketPath(address()), milliseconds(5000));
  }

  static v1::AgentUpdateRequest Install(Row input, Tag tag, uint64_t base_revision) {
    v1::AgentUpdateRequest request;
    request.set_base_revision(base_revision);
    request.add_install()->set_input(input);
    request.mutable_install(0)->set_tag(tag);
    request.mutable_install(0)->set_id(7);
    return request;
  }
  // Returns the answer to `message`.
  static v1::AgentUpdateResult Exchange(const PacketSocket& socket, const std::string& message) {
    v1::AgentUpdateResult result;
    EXPECT_TRUE(socket.Send(message).ok());
    std::vector<char> buffer(PacketSocket::kMaxMessage);
    const auto answer = socket.Receive(buffer);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (answer.ok()) {
      EXPECT_TRUE(result.ParseFromArray(answer->data(), static_cast<int>(answer->size())));
    }
    return result;
  }

  TemporaryFolder directory_;
  FakeBoard board_;
  std::unique_ptr<TestAgent> agent_;
};

TEST_F(UpdateSocketTest, AnUpdateIsCarriedOutAndTellsTheNewRevision) {
  UpdateClient client(address());
  const auto response = client.Update(Install(3, 5, revision()));
  ASSERT_TRUE(response.has_value());
  ASSERT_TRUE(response->ok()) << response->status();
  EXPECT_EQ((*response)->revision(), revision());
  const std::vector<HeldCircuit> held = agent_->host().held(true).circuits;
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].input, 3u);
  EXPECT_EQ(held[0].tag, 5u);
  EXPECT_EQ(held[0].id, 7u);
}

TEST_F(UpdateSocketTest, ErrorsAreThoseOfTheHostAndChangeNothing) {
  UpdateClient client(address());
  const auto stale = client.Update(Install(3, 5, revision() + 1));
  ASSERT_TRUE(stale.has_value());
  EXPECT_TRUE(absl::IsAborted(stale->status())) << stale->status();
  const auto outside = client.Update(Install(16, 5, revision()));
  ASSERT_TRUE(outside.has_value());
  EXPECT_TRUE(absl::IsInvalidArgument(outside->status())) << outside->status();
  EXPECT_TRUE(absl::StrContains(outside->status().message(), "install[0].input"))
      << outside->status();
  EXPECT_TRUE(agent_->host().held(true).circuits.empty());
}

TEST_F(UpdateSocketTest, AMessageThatIsNotAnUpdateIsRefusedAndTheNextIsServed) {
  const PacketSocket socket = Connect();
  EXPECT_EQ(Exchange(socket, "\xff\xff").code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
  // A client ignores the limit and sends a longer message.
  const std::string long_message(PacketSocket::kMaxMessage + 1, 'x');
  ASSERT_EQ(send(socket.fd(), long_message.data(), long_message.size(), 0),
            static_cast<ssize_t>(long_message.size()));
  std::vector<char> buffer(PacketSocket::kMaxMessage);
  const auto answer = socket.Receive(buffer);
  ASSERT_TRUE(answer.ok()) << answer.status();
  v1::AgentUpdateResult result;
  ASSERT_TRUE(result.ParseFromArray(answer->data(), static_cast<int>(answer->size())));
  EXPECT_EQ(result.code(), static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(Exchange(socket, Install(3, 5, revision()).SerializeAsString()).code(), 0);
  EXPECT_EQ(agent_->host().held(true).circuits.size(), 1u);
}

TEST_F(UpdateSocketTest, ClientsBeyondTheLimitWaitUntilAnotherIsGone) {
  std::vector<PacketSocket> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(Connect());
    EXPECT_EQ(Exchange(clients.back(), Install(i, 5, 0).SerializeAsString()).code(), 0);
  }
  const PacketSocket ninth = Connect();
  ASSERT_TRUE(ninth.Send(Install(9, 5, 0).SerializeAsString()).ok());
  clients.pop_back();
  std::vector<char> buffer(PacketSocket::kMaxMessage);
  EXPECT_TRUE(ninth.Receive(buffer).ok());
  EXPECT_EQ(agent_->host().held(true).circuits.size(), 9u);
}

TEST_F(UpdateSocketTest, WithoutADescriptorForAClientItWaitsAtLeisure) {
  const int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const int lowest_free = dup(client);
  close(lowest_free);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit full = before;
  full.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  UpdateSocketPath(this->address()).copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int connected =
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const std::clock_t start = std::clock();
  std::this_thread::sleep_for(milliseconds(600));
  const double cpu_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(connected, 0);
  EXPECT_LT(cpu_seconds, 0.2);
  // Then it takes the client.
  const std::string update = Install(3, 5, revision()).SerializeAsString();
  EXPECT_EQ(send(client, update.data(), update.size(), 0), static_cast<ssize_t>(update.size()));
  char answer[1000];
  EXPECT_GT(recv(client, answer, sizeof(answer), 0), 0);
  EXPECT_EQ(agent_->host().held(true).circuits.size(), 1u);
  close(client);
}

TEST_F(UpdateSocketTest, WhereNobodyListensItIsToGoAnotherWay) {
  EXPECT_FALSE(UpdateClient("127.0.0.1:7380").Update(Install(3, 5, 1)).has_value());
  EXPECT_FALSE(
      UpdateClient(SocketAddress(directory_.path(), "dp1")).Update(Install(3, 5, 1)).has_value());
  UpdateClient client(address());
  ASSERT_TRUE(client.Update(Install(3, 5, revision())).has_value());
  agent_.reset();
  EXPECT_FALSE(client.Update(Install(3, 5, 1)).has_value());
  // Too long for one message.
  StartAgent();
  v1::AgentUpdateRequest request;
  for (int i = 0; i < 100'000; ++i) request.add_remove(i);
  EXPECT_FALSE(client.Update(request).has_value());
}

TEST_F(UpdateSocketTest, ADataPlaneStartedAnewIsFoundAgain) {
  UpdateClient client(address());
  ASSERT_TRUE(client.Update(Install(3, 5, revision())).has_value());
  agent_.reset();
  SetUp();
  const auto response = client.Update(Install(3, 5, revision()));
  ASSERT_TRUE(response.has_value());
  EXPECT_TRUE(response->ok()) << response->status();
}

TEST_F(UpdateSocketTest, ASilentDataPlaneIsGivenUpAndItsLateAnswerIsNotTakenForTheNext) {
  const std::string silent = SocketAddress(directory_.path(), "silent");
  const auto listening = PacketSocket::Listen(UpdateSocketPath(silent));
  ASSERT_TRUE(listening.ok()) << listening.status();
  UpdateClient client(silent, milliseconds(1'500));
  const auto response = client.Update(Install(3, 5, 1));
  ASSERT_TRUE(response.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(response->status())) << response->status();

  // The data plane wakes up and answers too late. Then the second update is answered.
  const auto first = listening->Accept();
  ASSERT_TRUE(first.ok());
  v1::AgentUpdateResult late;
  late.mutable_response()->set_revision(111);
  first->Send(late.SerializeAsString()).IgnoreError();
  // The connection stays open until the client has read the answer.
  absl::StatusOr<PacketSocket> second = absl::UnknownError("nobody connected");
  std::thread answering([&] {
    pollfd waiting = {.fd = listening->fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&waiting, 1, 60'000), 1);
    second = listening->Accept();
    ASSERT_TRUE(second.ok());
    v1::AgentUpdateResult result;
    result.mutable_response()->set_revision(222);
    EXPECT_TRUE(second->Send(result.SerializeAsString()).ok());
  });
  const auto next = client.Update(Install(3, 5, 1));
  answering.join();
  ASSERT_TRUE(next.has_value());
  ASSERT_TRUE(next->ok()) << next->status();
  EXPECT_EQ((*next)->revision(), 222u);
}

TEST_F(UpdateSocketTest, ThePathStandsBesideTheAgentsSocket) {
  EXPECT_EQ(UpdateSocketPath("unix:/run/bfly/dp0.sock"), "/run/bfly/dp0.updates");
  EXPECT_EQ(UpdateSocketPath("unix:/run/bfly/dp0"), "");
  EXPECT_EQ(UpdateSocketPath("127.0.0.1:7380"), "");
  EXPECT_EQ(UpdateSocketPath("unix:/" + std::string(98, 'x') + ".sock"),
            "/" + std::string(98, 'x') + ".updates");
  EXPECT_EQ(UpdateSocketPath("unix:/" + std::string(99, 'x') + ".sock"), "");
}

}  // namespace
}  // namespace bfly::control
