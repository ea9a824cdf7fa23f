// SPDX-License-Identifier: Apache-2.0
#include "control/server/state_lock.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

absl::Status CannotUseState(const std::string& directory, absl::string_view why) {
  return absl::PermissionDeniedError(
      absl::StrCat("cannot use the state directory ", directory, ": ", why,
                   "; run as root or set --state-dir (or BFLY_STATE_DIR) to a directory of yours"));
}

}  // namespace

absl::StatusOr<StateLock> StateLock::Take(const std::string& state_directory) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(state_directory, error);
  if (error) return CannotUseState(state_directory, error.message());
  if (made && chmod(state_directory.c_str(), 0750) != 0) {
    return CannotUseState(state_directory, std::strerror(errno));
  }
  if (absl::Status status = CheckStateDirectory(state_directory); !status.ok()) return status;
  absl::StatusOr<FileLock> file = FileLock::Take(state_directory + "/intent.lock");
  if (absl::IsAlreadyExists(file.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat("another controller works with the state directory ", state_directory,
                     "; end it first, or use another --state-dir"));
  }
  if (!file.ok()) return CannotUseState(state_directory, file.status().message());
  return StateLock(*std::move(file));
}

}  // namespace bfly::control
