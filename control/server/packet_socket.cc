// SPDX-License-Identifier: Apache-2.0
#include "control/server/packet_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr int kBacklog = 16;
constexpr mode_t kMode = 0660;

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

// Returns -1 if the path is too long for a socket or no descriptors are left.
int NewSocket(const std::string& path, sockaddr_un* address) {
  *address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty() || path.size() >= sizeof(address->sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address->sun_path, path.data(), path.size());
  return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

}  // namespace

absl::StatusOr<PacketSocket> PacketSocket::Connect(const std::string& path,
                                                   std::chrono::milliseconds patience) {
  sockaddr_un address;
  PacketSocket connected(NewSocket(path, &address));
  const timeval timeout = {.tv_sec = patience.count() / 1000,
                           .tv_usec = patience.count() % 1000 * 1000};
  if (connected.fd_ < 0 ||
      setsockopt(connected.fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
      setsockopt(connected.fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
      connect(connected.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failed("cannot connect to", path);
  }
  return connected;
}

absl::StatusOr<PacketSocket> PacketSocket::Listen(const std::string& path) {
  sockaddr_un address;
  PacketSocket listening(NewSocket(path, &address));
  if (listening.fd_ < 0) return Failed("cannot make socket", path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed("cannot remove", path);
  // fchmod before bind limits the mode that the file is created with, so that it is never wider
  // than kMode. The process's umask may narrow it.
  if (fchmod(listening.fd_, kMode) != 0 ||
      bind(listening.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), kMode) != 0 || listen(listening.fd_, kBacklog) != 0) {
    return Failed("cannot listen at", path);
  }
  return listening;
}

PacketSocket::~PacketSocket() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<PacketSocket> PacketSocket::Accept() const {
  PacketSocket accepted(accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted.fd_ < 0) return absl::UnavailableError(std::strerror(errno));
  return accepted;
}

absl::Status PacketSocket::Send(absl::string_view message) const {
  if (message.size() > kMaxMessage) {
    return absl::OutOfRangeError(
        absl::StrCat("a message of ", message.size(), " bytes, at most ", kMaxMessage));
  }
  ssize_t sent;
  do {
    sent = send(fd_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return absl::UnavailableError(std::strerror(errno));
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> PacketSocket::Receive(std::span<char> buffer) const {
  ssize_t length;
  do {
    length = recv(fd_, buffer.data(), buffer.size(), MSG_TRUNC);
  } while (length < 0 && errno == EINTR);
  if (length == 0) return absl::UnavailableError("the other side is gone");
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return absl::DeadlineExceededError("no message came in time");
  }
  if (length < 0) return absl::UnavailableError(std::strerror(errno));
  if (static_cast<size_t>(length) > buffer.size()) {
    return absl::OutOfRangeError(
        absl::StrCat("a message of ", length, " bytes, at most ", buffer.size()));
  }
  return absl::string_view(buffer.data(), length);
}

}  // namespace bfly::control
