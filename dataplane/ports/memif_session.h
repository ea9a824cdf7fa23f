// SPDX-License-Identifier: Apache-2.0
// One connection of a memif peer to DPDK's driver, carried message by message.
//
// net_memif (22.11) serves its control channel in DPDK's interrupt thread. When a peer hangs up,
// the driver unmaps the memory it shared with the peer there and then, also while a worker copies
// frames from it. So no peer talks to the driver: bfly carries the messages, and the driver learns
// that a peer left when no worker is inside the driver any more.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

class MemifSession {
 public:
  // What a session asks of the relay it belongs to.
  struct Hooks {
    // The client, be it the peer or the driver, names the interface it wants.
    std::function<void(uint32_t id)> asks_for;
    // The driver is connected: workers may use the device.
    std::function<void()> connected;
    // Returns when no worker is inside the driver. Called once after `connected`, before the driver
    // hears of the end of the connection.
    std::function<void()> take_away;
  };

  MemifSession(OwnedFd peer, OwnedFd driver, Hooks hooks)
      : peer_(std::move(peer)), driver_(std::move(driver)), hooks_(std::move(hooks)) {}

  // Carries what there is to carry; never waits for the peer. False: both sides have hung up.
  bool Serve();
  // Hangs up on both sides and waits until the driver has let go, at most `seconds`.
  void End(double seconds);

  int peer_fd() const { return peer_.get(); }
  int driver_fd() const { return driver_.get(); }

 private:
  // kOpening: messages pass. kConnected: a peer has nothing to say any more but that it leaves.
  // kEnding: the driver was told, and its end is awaited.
  enum class State { kOpening, kConnected, kEnding };

  void FromPeer();
  bool FromDriver();
  void NoteConnected(uint16_t type);
  void HangUp();

  OwnedFd peer_;
  OwnedFd driver_;
  Hooks hooks_;
  State state_ = State::kOpening;
};

}  // namespace bfly::dataplane
