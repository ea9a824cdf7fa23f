// SPDX-License-Identifier: Apache-2.0
// Who may talk to a memif device at an abstract socket. The tests play the driver and its peers.
#include "dataplane/ports/memif_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;
// The kernel's name for the users of other user namespaces. It is nobody's name, too.
constexpr uid_t kUnknown = 65534;

// Runs `task` on a thread that belongs to `user`. setresuid() of the C library would change the
// user of all threads.
void As(uid_t user, const std::function<void()>& task) {
  std::thread([&] {
    EXPECT_EQ(syscall(SYS_setresuid, -1, user, -1), 0);
    task();
  }).join();
}

// A socket in the network namespace that nobody else uses.
UnixAddress NewAddress() {
  static int next = 0;
  return {.path = absl::StrCat("bfly-relay-test-", getpid(), "-", next++), .abstract = true};
}

OwnedFd ConnectionOf(uid_t user, const UnixAddress& to) {
  OwnedFd connection;
  As(user, [&] {
    auto connected = ConnectTo(to, SOCK_SEQPACKET);
    EXPECT_TRUE(connected.ok()) << connected.status();
    if (connected.ok()) connection = *std::move(connected);
  });
  return connection;
}

OwnedFd AcceptAt(const OwnedFd& listener) {
  return OwnedFd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
}

class MemifRelayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to be other users";
  }

  absl::StatusOr<std::unique_ptr<MemifRelay>> Open(const std::string& role) {
    device_ = absl::StrCat("net_memif0,id=0,role=", role, ",socket=", address_.path);
    return MemifRelay::Open(**MemifDevice::Of(device_), [] {});
  }

  const UnixAddress address_ = NewAddress();
  std::string device_;
};

// A socket that is closed with unread bytes in it says ECONNRESET to the other end.
TEST_F(MemifRelayTest, AServerHangsUpOnOtherUsersBeforeItReads) {
  auto relay = Open("server");
  ASSERT_TRUE(relay.ok()) << relay.status();
  const auto inside = MemifDevice::Of((*relay)->DriversDevice(device_));
  auto driver = ListenAt((*inside)->socket, SOCK_SEQPACKET);
  ASSERT_TRUE(driver.ok()) << driver.status();
  DeviceGate gate;
  (*relay)->Add(0, 0, &gate);

  std::array<char, 128> message = {3};  // memif 2.0: MEMIF_MSG_TYPE_INIT
  for (const uid_t user : {kAlice, kUnknown}) {
    const OwnedFd peer = ConnectionOf(user, address_);
    ASSERT_EQ(send(peer.get(), message.data(), message.size(), 0), 128);
    (*relay)->Serve();
    EXPECT_EQ(recv(peer.get(), message.data(), message.size(), MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, ECONNRESET) << user;
    EXPECT_FALSE(AcceptAt(*driver)) << user;
  }
  const OwnedFd peer = ConnectionOf(0, address_);
  ASSERT_EQ(send(peer.get(), message.data(), message.size(), 0), 128);
  (*relay)->Serve();
  OwnedFd drivers_end = AcceptAt(*driver);
  ASSERT_TRUE(drivers_end);
  EXPECT_EQ(recv(drivers_end.get(), message.data(), message.size(), MSG_DONTWAIT), 128);
  drivers_end.Reset();
  (*relay)->Remove(0);
}

TEST_F(MemifRelayTest, AClientLeavesAServerOfAnotherUserAlone) {
  OwnedFd server;
  As(kAlice, [&] { server = *ListenAt(address_, SOCK_SEQPACKET); });
  const auto of_alice = Open("client");
  EXPECT_EQ(of_alice.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(of_alice.status().message()), HasSubstr("user 1000"));
  server.Reset();
  server = *ListenAt(address_, SOCK_SEQPACKET);
  EXPECT_TRUE(Open("client").ok());
}

TEST_F(MemifRelayTest, APeerIsRootOrTheUserOfTheProcess) {
  const OwnedFd listener = *ListenAt(address_, SOCK_SEQPACKET);
  const auto lets_in = [&](uid_t user, uid_t peer_user, const UnixAddress& address) {
    const OwnedFd peer = ConnectionOf(peer_user, address_);
    const OwnedFd accepted = AcceptAt(listener);
    bool ok = false;
    As(user, [&] { ok = CheckPeer(address, accepted).ok(); });
    return ok;
  };
  EXPECT_TRUE(lets_in(kAlice, kAlice, address_));
  EXPECT_TRUE(lets_in(kAlice, 0, address_));
  EXPECT_FALSE(lets_in(kAlice, kBob, address_));
  EXPECT_FALSE(lets_in(0, kAlice, address_));
  // Two unknown users have the same name.
  EXPECT_FALSE(lets_in(kUnknown, kUnknown, address_));
  // The mode of a socket that is a file says who may connect.
  EXPECT_TRUE(lets_in(kAlice, kBob, {.path = "/tmp/a.sock"}));
}

}  // namespace
}  // namespace bfly::dataplane
