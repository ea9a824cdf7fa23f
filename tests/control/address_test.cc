// SPDX-License-Identifier: Apache-2.0
#include "control/server/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "control/access/peer.h"
#include "control/server/grpc_server.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

class Socket : public testing::Test {
 protected:
  // A socket at which this process listens until it closes the descriptor.
  int Listen(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
};

TEST(ListenAddress, IsAUnixSocketAndTheErrorNamesTheFlagThatOpensTcp) {
  EXPECT_EQ(*ListenAddress("unix:/run/x.sock"), "unix:/run/x.sock");
  for (const char* tcp : {"50051", "127.0.0.1:50051", "localhost:50051", "0.0.0.0:50051", ""}) {
    const absl::Status refused = ListenAddress(tcp).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << tcp;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("--tls-listen")) << tcp;
  }
  EXPECT_FALSE(ListenAddress("unix:").ok());
  EXPECT_FALSE(ListenAddress("unix:/" + std::string(107, 'x')).ok());
  EXPECT_TRUE(ListenAddress("unix:/" + std::string(106, 'x')).ok());
  for (const char* path : {"unix:/a#b.sock", "unix:/a?b.sock", "unix:/a%41.sock"}) {
    EXPECT_EQ(ListenAddress(path).status().code(), absl::StatusCode::kInvalidArgument) << path;
  }
}

TEST(TcpAddress, APortIsOnThisMachineOnly) {
  EXPECT_EQ(*TcpAddress("50051"), "127.0.0.1:50051");
  EXPECT_EQ(*TcpAddress(":50051"), "127.0.0.1:50051");
  for (const char* address : {"127.8.0.1:50051", "[::1]:50051", "0.0.0.0:50051", "[::]:1"})
    EXPECT_EQ(*TcpAddress(address), address);
}

TEST(TcpAddress, SaysWhetherOtherMachinesCanReachIt) {
  for (const char* here : {"127.0.0.1:1", "127.8.0.1:50051", "[::1]:7"})
    EXPECT_TRUE(IsLoopback(here)) << here;
  for (const char* anywhere : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1"})
    EXPECT_FALSE(IsLoopback(anywhere)) << anywhere;
}

TEST(TcpAddress, NamesAndWhatIsNoAddressAreRefused) {
  for (const char* wrong : {"", "0", "65536", "host:", "host:port", "unix:", "50051x",
                            "127.evil.example:50051", "127.0.0.1.evil.example:1", "localhost:1",
                            "127.1:1", "::1:50051", "[::1:1", "[127.0.0.1]:1"}) {
    EXPECT_EQ(TcpAddress(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST_F(Socket, ARunDirectoryIsOurOwnOrRootsAndNobodyElseWritesToIt) {
  EXPECT_TRUE(CheckRunDirectory(directory_ + "/not-there").ok());
  EXPECT_TRUE(CheckRunDirectory(directory_).ok());
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(CheckRunDirectory(directory_).code(), absl::StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(directory_.c_str(), 01777), 0);
  EXPECT_EQ(CheckRunDirectory(directory_).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(Socket, RunDirectoriesWhoseSocketsGrpcWouldNotFindAreRefused) {
  for (const std::string sign : {"#", "?", "%"}) {
    const absl::Status refused = CheckRunDirectory(directory_ + "/a" + sign + "b");
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << sign;
    EXPECT_THAT(std::string(refused.message()),
                testing::HasSubstr("/a" + sign + "b has a '" + sign));
  }
}

TEST(Peer, RootOwnerAndGroupMayUseASocketAndNobodyElse) {
  struct stat file {};
  file.st_uid = 1000;
  file.st_gid = 50;
  file.st_mode = S_IFSOCK | 0666;
  EXPECT_TRUE(MayUse({.pid = 1, .uid = 0, .groups = {7}}, file));
  EXPECT_TRUE(MayUse({.pid = 1, .uid = 1000, .groups = {7}}, file));
  EXPECT_TRUE(MayUse({.pid = 1, .uid = 1001, .groups = {7, 50}}, file));
  EXPECT_FALSE(MayUse({.pid = 1, .uid = 1001, .groups = {7}}, file));
  EXPECT_FALSE(MayUse({.pid = 1, .uid = 65534, .groups = {}}, file));
  file.st_mode = S_IFSOCK | 0600;
  EXPECT_FALSE(MayUse({.pid = 1, .uid = 1001, .groups = {50}}, file));
}

TEST(Peer, IsWhoConnected) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const absl::StatusOr<Peer> peer = PeerOf(ends[0]);
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_THAT(peer->groups, testing::Contains(getegid()));
  std::vector<gid_t> groups(getgroups(0, nullptr));
  ASSERT_EQ(getgroups(static_cast<int>(groups.size()), groups.data()),
            static_cast<int>(groups.size()));
  EXPECT_THAT(peer->groups, testing::IsSupersetOf(groups));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Socket, OneThatNobodyAnswersOnIsReplaced) {
  const std::string path = directory_ + "/dp0.sock";
  close(Listen(path));
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(PrepareSocket("unix:" + path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Socket, OneThatSomebodyAnswersOnIsLeftAlone) {
  const std::string path = directory_ + "/dp0.sock";
  const int fd = Listen(path);
  EXPECT_EQ(PrepareSocket("unix:" + path).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(path));
  close(fd);
}

TEST_F(Socket, OneOfAProcessThatIsJustEndingIsReplaced) {
  const std::string path = directory_ + "/dp0.sock";
  const int fd = Listen(path);
  std::thread ending([fd] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    close(fd);
  });
  EXPECT_TRUE(PrepareSocket("unix:" + path).ok());
  ending.join();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Socket, AFileThatIsNoSocketIsLeftAlone) {
  const std::string path = directory_ + "/dp0.sock";
  std::ofstream(path) << "precious";
  EXPECT_EQ(PrepareSocket("unix:" + path).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
}

TEST_F(Socket, TheRunDirectoryIsMade) {
  EXPECT_TRUE(PrepareSocket("unix:" + directory_ + "/run/bfly/dp0.sock").ok());
  EXPECT_TRUE(std::filesystem::is_directory(directory_ + "/run/bfly"));
}

TEST_F(Socket, AServersIsForOwnerAndGroupAndGoneWhenItStops) {
  const std::string path = directory_ + "/controller.sock";
  GrpcServer::Options options;
  options.sockets = {"unix:" + path};
  auto server = GrpcServer::Start(options, {});
  ASSERT_TRUE(server.ok()) << server.status();
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_EQ(GrpcServer::Start(options, {}).status().code(), absl::StatusCode::kAlreadyExists);
  (*server)->Stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace bfly::control
