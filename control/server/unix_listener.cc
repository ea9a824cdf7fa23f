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

bool Listen(int fd, const std::string& path, mode_t mode) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  // fchmod before bind limits the mode of the file; the process's umask may narrow it.
  return fchmod(fd, mode) == 0 &&
         bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
         chmod(path.c_str(), mode) == 0 && listen(fd, kBacklog) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Start(std::string path, Door door,
                                                                  std::function<void(int)> take) {
  const mode_t mode = door == Door::kGroup ? kGroupMode : kEverybodyMode;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(path);
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0 || !Listen(fd, path, mode)) {
    const absl::Status failed = Failed(path);
    close(fd);
    if (stop >= 0) close(stop);
    return failed;
  }
  return std::unique_ptr<UnixListener>(
      new UnixListener(std::move(path), fd, stop, std::move(take)));
}

UnixListener::UnixListener(std::string path, int listening, int stop, std::function<void(int)> take)
    : path_(std::move(path)), listening_(listening), stop_(stop), take_(std::move(take)) {
  thread_ = std::thread([this] { Run(); });
}

UnixListener::~UnixListener() {
  eventfd_write(stop_, 1);
  thread_.join();
  unlink(path_.c_str());
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
    take_(fd);
  }
}

}  // namespace bfly::control
