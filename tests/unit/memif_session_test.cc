// SPDX-License-Identifier: Apache-2.0
// Which messages of a memif peer a session believes.
#include "dataplane/ports/memif_session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace bfly::dataplane {
namespace {

constexpr char kConnectedType = 7;  // memif 2.0: MEMIF_MSG_TYPE_CONNECTED

std::pair<OwnedFd, OwnedFd> SocketPair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  return {OwnedFd(ends[0]), OwnedFd(ends[1])};
}

void SendConnected(const OwnedFd& from) {
  const std::array<char, 128> message = {kConnectedType};
  EXPECT_EQ(send(from.get(), message.data(), message.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(message.size()));
}

struct Calls {
  int connected = 0, taken_away = 0;
};

// What the session tells its relay after one side has said CONNECTED and both have left.
Calls CallsAfter(MemifSession::Server server, bool peer_says_it) {
  auto [peer, peer_end] = SocketPair();
  auto [driver, driver_end] = SocketPair();
  Calls calls;
  MemifSession session(std::move(peer_end), std::move(driver_end), server,
                       {.asks_for = [](uint32_t) {},
                        .connected = [&calls] { ++calls.connected; },
                        .take_away = [&calls] { ++calls.taken_away; }});
  SendConnected(peer_says_it ? peer : driver);
  session.Serve();
  peer.Reset();
  driver.Reset();
  session.Serve();
  return calls;
}

// A client that says CONNECTED would otherwise close the port of the client that has it.
TEST(MemifSession, OnlyTheServerSaysThatTheConnectionStands) {
  using Server = MemifSession::Server;
  for (const Server server : {Server::kDriver, Server::kPeer}) {
    const bool peer_is_server = server == Server::kPeer;
    const Calls by_server = CallsAfter(server, peer_is_server);
    EXPECT_EQ(by_server.connected, 1);
    EXPECT_EQ(by_server.taken_away, 1);
    const Calls by_client = CallsAfter(server, !peer_is_server);
    EXPECT_EQ(by_client.connected, 0);
    EXPECT_EQ(by_client.taken_away, 0);
  }
}

}  // namespace
}  // namespace bfly::dataplane
