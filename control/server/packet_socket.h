// SPDX-License-Identifier: Apache-2.0
// Messages between two processes of one machine over a Unix socket (SOCK_SEQPACKET): each arrives
// whole or not at all, and the end of the other side is noticed at once.
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
  // Bytes of a message. Far below what a socket buffer holds, so that one message always fits.
  static constexpr size_t kMaxMessage = 64 << 10;

  // UNAVAILABLE: nobody listens there. Receive waits for `patience` at most.
  static absl::StatusOr<PacketSocket> Connect(const std::string& path,
                                              std::chrono::milliseconds patience);
  // Takes the place of a socket nobody listens at; owner and group may connect.
  static absl::StatusOr<PacketSocket> Listen(const std::string& path);

  PacketSocket(PacketSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PacketSocket& operator=(PacketSocket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PacketSocket();

  // Of a listening socket, whose poll says that somebody connects. Accepted sockets do not wait in
  // Receive.
  absl::StatusOr<PacketSocket> Accept() const;
  // Does not wait. UNAVAILABLE: the other side is gone, or does not take what it was sent;
  // OUT_OF_RANGE: longer than kMaxMessage. Nothing was sent then.
  absl::Status Send(absl::string_view message) const;
  // The message, in `buffer`. UNAVAILABLE: the other side is gone, or sent an empty message;
  // DEADLINE_EXCEEDED; OUT_OF_RANGE: it was longer than the buffer and is lost.
  absl::StatusOr<absl::string_view> Receive(std::span<char> buffer) const;

  int fd() const { return fd_; }

 private:
  explicit PacketSocket(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace bfly::control
