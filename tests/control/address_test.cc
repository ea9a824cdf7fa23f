// SPDX-License-Identifier: Apache-2.0
#include "control/server/address.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "control/server/grpc_server.h"

namespace bfly::control {
namespace {

class Socket : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/bfly-address-XXXXXX";
    directory_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // A socket somebody listens at, until the descriptor is closed.
  int Listen(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }

  std::string directory_;
};

TEST(ListenAddress, APortIsOnThisMachineOnly) {
  EXPECT_EQ(*ListenAddress("50051", false), "127.0.0.1:50051");
  EXPECT_EQ(*ListenAddress(":50051", false), "127.0.0.1:50051");
  EXPECT_EQ(*ListenAddress("localhost:50051", false), "localhost:50051");
  EXPECT_EQ(*ListenAddress("[::1]:50051", false), "[::1]:50051");
}

TEST(ListenAddress, OtherMachinesAreLetInOnlyIfAllowed) {
  EXPECT_EQ(ListenAddress("0.0.0.0:50051", false).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ListenAddress("0.0.0.0:50051", true), "0.0.0.0:50051");
}

TEST(ListenAddress, WhatIsNoAddressIsRefused) {
  for (const char* wrong : {"", "0", "65536", "host:", "host:port", "unix:", "50051x"}) {
    EXPECT_EQ(ListenAddress(wrong, true).status().code(), absl::StatusCode::kInvalidArgument)
        << wrong;
  }
  EXPECT_FALSE(ListenAddress("unix:/" + std::string(107, 'x'), true).ok());
  EXPECT_TRUE(ListenAddress("unix:/" + std::string(106, 'x'), true).ok());
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
  options.addresses = {"unix:" + path};
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
