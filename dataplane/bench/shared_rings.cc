// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/shared_rings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_processes.h"

namespace bfly::dataplane {
namespace {

constexpr double kRetrySeconds = 0.01;

absl::Status Failed(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Make(size_t bytes) {
  std::unique_ptr<SharedMemory> memory(new SharedMemory);
  memory->fd_ = memfd_create("bfly-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // The seal tells the other process that the memory does not shrink while it is mapped.
  if (memory->fd_ < 0 || ftruncate(memory->fd_, static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory->fd_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return Failed("no memory to share with the device under test");
  }
  void* const base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory->fd_, 0);
  if (base == MAP_FAILED) return Failed("no memory to share with the device under test");
  memory->base_ = static_cast<std::byte*>(base);
  memory->bytes_ = bytes;
  return memory;
}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<PeerSocket>> PeerSocket::Connect(const std::string& path, int type,
                                                                double seconds) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": too long for the name of a socket"));
  }
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed("no socket");
  std::unique_ptr<PeerSocket> peer(new PeerSocket(fd, path));
  timeval patience{.tv_sec = static_cast<time_t>(seconds),
                   .tv_usec = static_cast<suseconds_t>(
                       (seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e6)};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return Failed(path);
    PauseFor(kRetrySeconds);
  }
  return peer;
}

PeerSocket::~PeerSocket() { close(fd_); }

absl::Status PeerSocket::Send(const void* message, size_t bytes, int with) {
  iovec part{.iov_base = const_cast<void*>(message), .iov_len = bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  if (with >= 0) {
    header.msg_control = space;
    header.msg_controllen = sizeof(space);
    cmsghdr* const descriptor = CMSG_FIRSTHDR(&header);
    descriptor->cmsg_len = CMSG_LEN(sizeof(int));
    descriptor->cmsg_level = SOL_SOCKET;
    descriptor->cmsg_type = SCM_RIGHTS;
    std::memcpy(CMSG_DATA(descriptor), &with, sizeof(with));
  }
  if (sendmsg(fd_, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes)) return absl::OkStatus();
  return Failed(path_);
}

absl::Status PeerSocket::Receive(void* message, size_t bytes) {
  const ssize_t got = recv(fd_, message, bytes, MSG_WAITALL);
  if (got == static_cast<ssize_t>(bytes)) return absl::OkStatus();
  if (got < 0) return Failed(path_);
  return absl::UnavailableError(
      absl::StrCat(path_, ": a message of ", got, " bytes came in place of one of ", bytes));
}

}  // namespace bfly::dataplane
