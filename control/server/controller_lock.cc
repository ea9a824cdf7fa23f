// SPDX-License-Identifier: Apache-2.0
#include "control/server/controller_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace bfly::control {
namespace {

constexpr size_t kIdDigits = 32;
constexpr std::chrono::seconds kHandover{1};
constexpr std::chrono::milliseconds kLockStep{20};

std::string LockPath(const std::string& run_directory) {
  return run_directory + "/controller.lock";
}

std::string NewOwnerId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

absl::Status CannotUse(absl::string_view what, const std::string& path) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, " ", path, ": ", std::strerror(errno),
                   "; run as root or set --run-dir (or BFLY_RUN_DIR) to a directory of yours"));
}

// The words of the file: the id, then the process.
std::vector<std::string> ReadWords(int fd) {
  std::array<char, 128> text{};
  const ssize_t length = pread(fd, text.data(), text.size() - 1, 0);
  return absl::StrSplit(std::string(text.data(), std::max<ssize_t>(length, 0)),
                        absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

bool IsOwnerId(const std::string& word) {
  return word.size() == kIdDigits &&
         std::all_of(word.begin(), word.end(), [](char c) { return absl::ascii_isxdigit(c); });
}

// True if the descriptor is of the file at the path. A lock on a removed file excludes nobody.
bool IsAt(int fd, const std::string& path) {
  struct stat mine {};
  struct stat there {};
  return fstat(fd, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

}  // namespace

absl::StatusOr<ControllerLock> ControllerLock::Take(const std::string& run_directory) {
  std::error_code error;
  std::filesystem::create_directories(run_directory, error);
  const std::string path = LockPath(run_directory);
  const auto deadline = std::chrono::steady_clock::now() + kHandover;
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return CannotUse("cannot open", path);
    const std::vector<std::string> words = ReadWords(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) {
      std::string id = !words.empty() && IsOwnerId(words[0]) ? words[0] : NewOwnerId();
      const std::string text = absl::StrCat(id, " ", getpid(), "\n");
      // The id comes first and stays the same, so a kill between the two leaves it whole.
      if (pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
          ftruncate(fd, static_cast<off_t>(text.size())) != 0) {
        const absl::Status failed = CannotUse("cannot write", path);
        close(fd);
        return failed;
      }
      return ControllerLock(path, fd, std::move(id));
    }
    close(fd);
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::AlreadyExistsError(absl::StrCat(
          "another controller", words.size() > 1 ? absl::StrCat(", process ", words[1], ",") : "",
          " works in ", run_directory, "; end it first, or use another --run-dir"));
    }
    std::this_thread::sleep_for(kLockStep);
  }
}

void ControllerLock::RemoveStale(const std::string& run_directory) {
  const std::string path = LockPath(run_directory);
  const int fd = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) unlink(path.c_str());
  close(fd);
}

ControllerLock::ControllerLock(std::string path, int fd, std::string id)
    : path_(std::move(path)), fd_(fd), id_(std::move(id)) {}

ControllerLock::ControllerLock(ControllerLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), id_(std::move(other.id_)) {}

ControllerLock::~ControllerLock() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace bfly::control
