// SPDX-License-Identifier: Apache-2.0
#include "control/server/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr std::chrono::seconds kHandover{1};
constexpr std::chrono::milliseconds kLockStep{20};

// True if the descriptor is of the file at the path. A lock on a removed file excludes nobody.
bool IsAt(int fd, const std::string& path) {
  struct stat mine {};
  struct stat there {};
  return fstat(fd, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + kHandover;
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return absl::PermissionDeniedError(std::strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) return FileLock(path, fd);
    close(fd);
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::AlreadyExistsError(absl::StrCat("another process holds ", path));
    }
    std::this_thread::sleep_for(kLockStep);
  }
}

void FileLock::RemoveStale(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) unlink(path.c_str());
  close(fd);
}

FileLock::FileLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  Leave();
}

void FileLock::Leave() { close(std::exchange(fd_, -1)); }

}  // namespace bfly::control
