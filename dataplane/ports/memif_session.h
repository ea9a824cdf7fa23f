// SPDX-License-Identifier: Apache-2.0
// One connection of a memif peer to DPDK's driver, carried message by message.
//
// net_memif (22.11) serves its control channel in DPDK's interrupt thread. When a peer hangs up,
// the driver at once unmaps the memory that it shared with the peer, even while a worker copies
// frames from it. So peers do not talk to the driver: bfly carries the messages, and the driver
// learns that a peer left only when no worker is inside the driver any more.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

class MemifSession {
 public:
  // The calls that a session makes to its relay.
  struct Hooks {
    // The client, which is the peer or the driver, names the interface that it wants.
    std::function<void(uint32_t id)> asks_for;
    // The driver is connected: workers may use the device.
    std::function<void()> connected;
    // Returns when no worker is inside the driver. It is called once after `connected`, before the
    // driver learns of the end of the connection.
    std::function<void()> take_away;
  };

  // The side that answers the other one's wish for an interface.
  enum class Server { kDriver, kPeer };

  MemifSession(OwnedFd peer, OwnedFd driver, Server server, Hooks hooks)
      : peer_(std::move(peer)),
        driver_(std::move(driver)),
        server_(server),
        hooks_(std::move(hooks)) {}

  // Carries the messages that are waiting, and never waits for the peer. Returns false once both
  // sides have hung up.
  bool Serve();
  // Hangs up on both sides and waits until the driver has let go, at most `seconds`.
  void End(double seconds);

  int peer_fd() const { return peer_.get(); }
  int driver_fd() const { return driver_.get(); }

 private:
  // kOpening: messages pass. kConnected: the peer can only leave. kEnding: the driver was told, and
  // the session waits for it to hang up.
  enum class State { kOpening, kConnected, kEnding };

  void FromPeer();
  bool FromDriver();
  void NoteConnected();
  void HangUp();

  OwnedFd peer_;
  OwnedFd driver_;
  const Server server_;
  Hooks hooks_;
  State state_ = State::kOpening;
};

}  // namespace bfly::dataplane
