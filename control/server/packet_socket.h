// SPDX-License-Identifier: Apache-2.0
// Messages between two processes of one machine over a Unix socket (SOCK_SEQPACKET). A message
// arrives whole or not at all, and each side notices at once when the other side ends.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// Owns its descriptor. Not thread-safe.
class PacketSocket {
 public:
  // The largest message in bytes. It is far below the size of a socket buffer, so one message
  // always fits.
  static constexpr size_t kMaxMessage = 64 << 10;

  // UNAVAILABLE: nobody listens there. Receive waits for `patience` at most.
  static absl::StatusOr<PacketSocket> Connect(const std::string& path,
                                              std::chrono::milliseconds patience);
  // Replaces a socket at which nobody listens. The owner and the group may connect.
  static absl::StatusOr<PacketSocket> Listen(const std::string& path);

  PacketSocket(PacketSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PacketSocket& operator=(PacketSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PacketSocket();

  // For a listening socket whose poll reports a connection. Receive on the accepted socket does not
  // wait.
  absl::StatusOr<PacketSocket> Accept() const;
  // Does not wait. After an error nothing was sent. UNAVAILABLE: the other side is gone, or does
  // not read what it was sent. OUT_OF_RANGE: the message is longer than kMaxMessage.
  absl::Status Send(absl::string_view message) const;
  // Returns the message, which is in `buffer`. UNAVAILABLE: the other side is gone, or sent an
  // empty message. DEADLINE_EXCEEDED: no message came in time. OUT_OF_RANGE: the message was longer
  // than the buffer and is lost.
  absl::StatusOr<absl::string_view> Receive(std::span<char> buffer) const;

  int fd() const { return fd_; }

 private:
  explicit PacketSocket(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace bfly::control
