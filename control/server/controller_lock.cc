// SPDX-License-Identifier: Apache-2.0
#include "control/server/controller_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace bfly::control {
namespace {

constexpr size_t kIdDigits = 32;

std::string LockPath(const std::string& run_directory) {
  return run_directory + "/controller.lock";
}

std::string NewOwnerId() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

absl::Status CannotUse(absl::string_view what, const std::string& path, absl::string_view why) {
  return absl::PermissionDeniedError(
      absl::StrCat(what, " ", path, ": ", why,
                   "; run as root or set --run-dir (or BFLY_RUN_DIR) to a directory of yours"));
}

// The words of the file: the id, then the process.
std::vector<std::string> ReadWords(int fd) {
  std::array<char, 128> text{};
  const ssize_t length = pread(fd, text.data(), text.size() - 1, 0);
  return absl::StrSplit(std::string(text.data(), std::max<ssize_t>(length, 0)),
                        absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

std::vector<std::string> WordsIn(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return {};
  std::vector<std::string> words = ReadWords(fd);
  close(fd);
  return words;
}

bool IsOwnerId(const std::string& word) {
  return word.size() == kIdDigits &&
         std::all_of(word.begin(), word.end(), [](char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace

absl::StatusOr<ControllerLock> ControllerLock::Take(const std::string& run_directory) {
  std::error_code error;
  std::filesystem::create_directories(run_directory, error);
  const std::string path = LockPath(run_directory);
  absl::StatusOr<FileLock> file = FileLock::Take(path);
  if (absl::IsAlreadyExists(file.status())) {
    const std::vector<std::string> words = WordsIn(path);
    return absl::AlreadyExistsError(absl::StrCat(
        "another controller", words.size() > 1 ? absl::StrCat(", process ", words[1], ",") : "",
        " works in ", run_directory, "; end it first, or use another --run-dir"));
  }
  if (!file.ok()) return CannotUse("cannot open", path, file.status().message());
  const std::vector<std::string> words = ReadWords(file->fd());
  std::string id = !words.empty() && IsOwnerId(words[0]) ? words[0] : NewOwnerId();
  const std::string text = absl::StrCat(id, " ", getpid(), "\n");
  // The id comes first and stays the same, so a kill between the two leaves it whole.
  if (pwrite(file->fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(file->fd(), static_cast<off_t>(text.size())) != 0) {
    const absl::Status failed = CannotUse("cannot write", path, std::strerror(errno));
    file->Leave();  // with the id of a controller that was killed
    return failed;
  }
  return ControllerLock(*std::move(file), std::move(id));
}

void ControllerLock::RemoveStale(const std::string& run_directory) {
  FileLock::RemoveStale(LockPath(run_directory));
}

}  // namespace bfly::control
