// SPDX-License-Identifier: Apache-2.0
#include "control/server/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// A controller that was just killed lets go within this time.
constexpr std::chrono::seconds kStateHandover{1};
constexpr std::chrono::milliseconds kStateStep{20};

absl::Status CannotUseState(const std::string& directory, const char* why) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot use the state directory ", directory, ": ", why,
                   "; run as root or set --state-dir (or BFLY_STATE_DIR) to a directory of yours"));
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Take(const std::string& state_directory,
                                          const std::string& run_directory) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(state_directory, error);
  if (error) return CannotUseState(state_directory, error.message().c_str());
  if (std::filesystem::equivalent(state_directory, run_directory, error)) return StateLock(-1);
  const int fd = open(state_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return CannotUseState(state_directory, std::strerror(errno));
  StateLock lock(fd);
  if (made && fchmod(fd, 0750) != 0) return CannotUseState(state_directory, std::strerror(errno));
  if (access(state_directory.c_str(), W_OK) != 0) {
    return CannotUseState(state_directory, std::strerror(errno));
  }
  const auto deadline = std::chrono::steady_clock::now() + kStateHandover;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::AlreadyExistsError(
          absl::StrCat("another controller works with the state directory ", state_directory,
                       "; end it first, or use another --state-dir"));
    }
    std::this_thread::sleep_for(kStateStep);
  }
  return lock;
}

StateLock::StateLock(StateLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StateLock::~StateLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace bfly::control
