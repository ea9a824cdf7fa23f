// SPDX-License-Identifier: Apache-2.0
// Connections by their descriptor and by the file of their socket, and how many a viewer may have.
#include "control/access/gate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "control/access/call_rate.h"
#include "control/access/viewer_connections.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

class GateTest : public testing::Test {
 protected:
  // Connects to a socket at `path_` and returns the end that was accepted.
  int Accept() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    if (listening_ < 0) {
      listening_ = socket(AF_UNIX, SOCK_STREAM, 0);
      EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      EXPECT_EQ(listen(listening_, 8), 0);
    }
    const int client = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    clients_.push_back(client);
    return accept(listening_, nullptr, nullptr);
  }
  // What `gate` makes of a connection, which is closed again. Closes the client's end too.
  absl::StatusOr<int> Admit(Gate& gate) {
    const int fd = Accept();
    if (!file_.has_value()) file_.emplace(*SocketFile::Open(path_));
    absl::StatusOr<int> number = gate.Admit(fd, *file_);
    if (number.ok()) close(*number);
    close(clients_.back());
    clients_.pop_back();
    return number;
  }
  ~GateTest() override {
    for (const int fd : clients_) close(fd);
    if (listening_ >= 0) close(listening_);
  }

  const TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/a.sock";
  int listening_ = -1;
  std::optional<SocketFile> file_;
  std::vector<int> clients_;
};

TEST_F(GateTest, ANumberOfAConnectionDoesNotComeBackSoon) {
  Gate gate{AccessRules()};
  std::set<int> numbers;
  for (int connection = 0; connection < 300; ++connection) {
    const auto number = Admit(gate);
    ASSERT_TRUE(number.ok()) << number.status();
    EXPECT_TRUE(numbers.insert(*number).second) << *number << " came back at " << connection;
  }
}

TEST_F(GateTest, ConnectionsAreTakenWhereNoHighNumberIsFree) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  Gate gate{AccessRules()};
  const auto number = Admit(gate);
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(number.ok()) << number.status();
}

TEST_F(GateTest, TheSocketsOwnFileCountsWhateverStandsAtItsPath) {
  Gate gate{AccessRules()};
  ASSERT_TRUE(Admit(gate).ok());
  const std::string elsewhere = folder_.path() + "/b.sock";
  std::filesystem::rename(path_, elsewhere);
  path_ = elsewhere;
  EXPECT_TRUE(Admit(gate).ok());
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be other users";
  constexpr uid_t kBob = 1000;
  const std::string bobs = file_->path();
  std::ofstream(bobs) << "a file of bob's";
  ASSERT_EQ(chown(bobs.c_str(), kBob, kBob), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(elsewhere.c_str(), 0666), 0);
  const auto bob = [&] {
    absl::Status status;
    // The functions of the C library would change all threads.
    std::thread([&] {
      EXPECT_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
      EXPECT_EQ(syscall(SYS_setresgid, kBob, kBob, kBob), 0);
      EXPECT_EQ(syscall(SYS_setresuid, -1, kBob, -1), 0);
      status = Admit(gate).status();
    }).join();
    return status;
  };
  EXPECT_EQ(bob().code(), absl::StatusCode::kPermissionDenied);
  // The socket's own file may be given away.
  ASSERT_EQ(chown(elsewhere.c_str(), kBob, 0), 0);
  EXPECT_TRUE(bob().ok()) << bob();
}

TEST_F(GateTest, AFileThatIsNotTheSocketIsRefused) {
  std::ofstream(path_) << "a file";
  EXPECT_EQ(SocketFile::Open(path_).status().code(), absl::StatusCode::kPermissionDenied);
  Gate gate{AccessRules()};
  std::filesystem::remove(path_);
  ASSERT_TRUE(Admit(gate).ok());
  const std::string link = folder_.path() + "/link.sock";
  std::filesystem::create_symlink(path_, link);
  EXPECT_EQ(SocketFile::Open(link).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(ViewerConnections, EachViewerHolds64AndAllTogether256) {
  ViewerConnections held;
  std::vector<int> open;
  const auto connect = [&](const std::string& who) {
    if (const absl::Status room = held.CheckRoom(who); !room.ok()) {
      EXPECT_EQ(room.code(), absl::StatusCode::kResourceExhausted);
      return false;
    }
    open.push_back(socket(AF_UNIX, SOCK_STREAM, 0));
    held.Add(open.back(), who);
    return true;
  };
  const auto count = [&](const std::string& who) {
    int connections = 0;
    while (connections < 1'000 && connect(who)) ++connections;
    return connections;
  };
  EXPECT_EQ(count("user 1"), 64);
  EXPECT_EQ(count("user 2"), 64);
  // A file that gets the number of a connection that was closed is not that connection.
  const int closed = open[0];
  close(closed);
  const int other = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(other, closed);
  EXPECT_EQ(count("user 1"), 1);
  EXPECT_EQ(count("user 3"), 64);
  EXPECT_EQ(count("user 4"), 64);
  EXPECT_EQ(count("user 5"), 0);
  for (const int fd : open) close(fd);
  EXPECT_EQ(count("user 5"), 64);
  for (size_t i = open.size() - 64; i < open.size(); ++i) close(open[i]);
}

TEST(CallRate, GivesASecondsCallsAtOnceAndThenAsManyAsBecomeFree) {
  CallRate rate(10);
  const CallRate::Time start{};
  const auto taken = [&](const std::string& who, std::chrono::milliseconds at) {
    int count = 0;
    while (count < 1000 && rate.Take(who, start + at)) ++count;
    return count;
  };
  using std::chrono::milliseconds;
  EXPECT_EQ(taken("eve", milliseconds(0)), 10);
  EXPECT_EQ(taken("eve", milliseconds(50)), 0);
  EXPECT_EQ(taken("bob", milliseconds(50)), 10);  // each has his own
  EXPECT_EQ(taken("eve", milliseconds(550)), 5);
  EXPECT_EQ(taken("eve", milliseconds(60'000)), 10);  // no more are saved up
  CallRate any(0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(any.Take("eve", start));
}

TEST(CallRate, ManyCallersTakeBoundedMemoryAndShareWhatIsLeft) {
  CallRate rate(1);
  const CallRate::Time start{};
  size_t admitted = 0;
  for (size_t i = 0; i < 3 * CallRate::kMostCallers; ++i) {
    admitted += rate.Take("caller " + std::to_string(i), start);
  }
  EXPECT_EQ(admitted, CallRate::kMostCallers + 1);
  // A moment later those who were quiet are forgotten, and others have room.
  EXPECT_TRUE(rate.Take("new", start + std::chrono::milliseconds(1001)));
}

TEST_F(GateTest, MethodsThatNobodyDeclaredNeedAViewer) {
  Gate gate{AccessRules()};
  gate.NeedsRole("/bfly.v1.Fabric/Load", Role::kOperator);
  EXPECT_EQ(gate.RoleOf("/bfly.v1.Fabric/Load"), Role::kOperator);
  EXPECT_EQ(gate.RoleOf("/grpc.health.v1.Health/Check"), Role::kViewer);
}

}  // namespace
}  // namespace bfly::control
