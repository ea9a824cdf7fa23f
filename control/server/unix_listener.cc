// SPDX-License-Identifier: Apache-2.0
#include "control/server/unix_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr int kBacklog = 128;
constexpr mode_t kGroupMode = 0660;
constexpr mode_t kEverybodyMode = 0666;
// The pause before the next attempt if no descriptors are left.
constexpr std::chrono::milliseconds kBreath{20};

absl::Status Failed(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen at unix:", path, ": ", std::strerror(errno)));
}

absl::StatusOr<SocketFile> Listen(int fd, const std::string& path, mode_t mode) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return Failed(path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed(path);
  // fchmod before bind limits the mode of the file; the process's umask may narrow it.
  if (fchmod(fd, mode) != 0 ||
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failed(path);
  }
  absl::StatusOr<SocketFile> file = SocketFile::Open(path);
  if (!file.ok()) return file;
  if (!file->SetMode(mode) || listen(fd, kBacklog) != 0) return Failed(path);
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Start(const std::string& path,
                                                                  Door door, Take take) {
  const mode_t mode = door == Door::kGroup ? kGroupMode : kEverybodyMode;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(path);
  const int stop = eventfd(0, EFD_CLOEXEC);
  absl::StatusOr<SocketFile> file = stop < 0 ? Failed(path) : Listen(fd, path, mode);
  if (!file.ok()) {
    close(fd);
    if (stop >= 0) close(stop);
    return file.status();
  }
  return std::unique_ptr<UnixListener>(
      new UnixListener(*std::move(file), fd, stop, std::move(take)));
}

UnixListener::UnixListener(SocketFile file, int listening, int stop, Take take)
    : file_(std::move(file)), listening_(listening), stop_(stop), take_(std::move(take)) {
  thread_ = std::thread([this] { Run(); });
}

UnixListener::~UnixListener() {
  eventfd_write(stop_, 1);
  thread_.join();
  unlink(file_.path().c_str());
  close(listening_);
  close(stop_);
}

void UnixListener::Run() {
  for (;;) {
    pollfd waiting[] = {{.fd = stop_, .events = POLLIN, .revents = 0},
                        {.fd = listening_, .events = POLLIN, .revents = 0}};
    if (poll(waiting, 2, -1) < 0) continue;  // EINTR
    if (waiting[0].revents != 0) return;
    const int fd = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        std::this_thread::sleep_for(kBreath);
      }
      continue;
    }
    take_(fd, file_);
  }
}

}  // namespace bfly::control
