// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/memif_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

namespace bfly::dataplane {
namespace {

// Version 2.0 of the memif protocol: a message is one packet of 128 bytes that starts with its type
// and carries at most one file descriptor.
constexpr size_t kMessageBytes = 128;
constexpr uint16_t kInit = 3;
constexpr uint16_t kConnected = 7;
// place in an INIT message, behind the type and the version
constexpr size_t kInterfaceIdAt = 4;

struct MemifMessage {
  std::array<char, kMessageBytes> bytes;
  size_t size = 0;  // 0: the other side hung up
  OwnedFd fd;

  uint16_t type() const {
    uint16_t type = 0;
    if (size >= sizeof(type)) std::memcpy(&type, bytes.data(), sizeof(type));
    return type;
  }
  bool is_init() const { return type() == kInit && size == kMessageBytes; }
  uint32_t interface_id() const {
    uint32_t id;
    std::memcpy(&id, bytes.data() + kInterfaceIdAt, sizeof(id));
    return id;
  }
};

// Returns nothing if no message is there now.
std::optional<MemifMessage> Receive(const OwnedFd& from) {
  MemifMessage message;
  iovec part = {.iov_base = message.bytes.data(), .iov_len = message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  const ssize_t size = recvmsg(from.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::nullopt;
    return message;
  }
  message.size = static_cast<size_t>(size);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < fds; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
      OwnedFd received(fd);  // closed here if it is not the first
      if (i == 0) message.fd = std::move(received);
    }
  }
  return message;
}

bool Send(const OwnedFd& to, const MemifMessage& message) {
  iovec part = {.iov_base = const_cast<char*>(message.bytes.data()), .iov_len = message.size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (message.fd) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = message.fd.get();
    std::memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  }
  return sendmsg(to.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size);
}

}  // namespace

bool MemifSession::Serve() {
  if (state_ != State::kEnding) FromPeer();
  return FromDriver();
}

void MemifSession::FromPeer() {
  while (state_ != State::kEnding) {
    const std::optional<MemifMessage> message = Receive(peer_);
    if (!message.has_value()) return;
    // A connected peer sends nothing but a disconnect. Any message ends the session here, because
    // the driver might answer one by releasing the memory.
    const bool goes = message->size == 0 || state_ == State::kConnected;
    // Only the server may say that the connection stands. A client that said so would make the
    // session take the device from the peer that has it.
    const bool connects = message->type() == kConnected;
    if (goes || (connects && server_ != Server::kPeer)) return HangUp();
    if (message->is_init()) hooks_.asks_for(message->interface_id());
    if (!Send(driver_, *message)) return HangUp();
    if (connects) NoteConnected();
  }
}

bool MemifSession::FromDriver() {
  while (true) {
    const std::optional<MemifMessage> message = Receive(driver_);
    if (!message.has_value()) return true;
    if (message->size == 0) {
      if (state_ != State::kEnding) HangUp();
      return false;
    }
    if (state_ == State::kEnding) continue;
    if (message->is_init()) hooks_.asks_for(message->interface_id());
    if (!Send(peer_, *message)) {
      HangUp();
    } else if (message->type() == kConnected && server_ == Server::kDriver) {
      NoteConnected();
    }
  }
}

// The server sends this message last. A driver that is the server is connected by then. A driver
// that is the client has mapped all memory before, and lets workers in when it has read the
// message.
void MemifSession::NoteConnected() {
  state_ = State::kConnected;
  hooks_.connected();
}

void MemifSession::HangUp() {
  peer_.Reset();
  if (state_ == State::kConnected) hooks_.take_away();
  state_ = State::kEnding;
  shutdown(driver_.get(), SHUT_WR);
}

void MemifSession::End(double seconds) {
  if (state_ != State::kEnding) HangUp();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (FromDriver() && std::chrono::steady_clock::now() < deadline) {
    pollfd wait = {.fd = driver_.get(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, 10);
  }
}

}  // namespace bfly::dataplane
