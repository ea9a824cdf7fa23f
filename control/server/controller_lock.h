// SPDX-License-Identifier: Apache-2.0
// One controller for one run directory: it holds a lock on RUN_DIR/controller.lock for as long as
// it lives. The file keeps the controller's id, so that one that starts after a crash is known to
// the data planes as the same owner.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

class ControllerLock {
 public:
  // Makes the directory. ALREADY_EXISTS: another controller holds the lock, and still does after a
  // second, for a process that was killed a moment ago; the error says which.
  static absl::StatusOr<ControllerLock> Take(const std::string& run_directory);
  // Removes the file of a controller that was killed; does nothing while one runs.
  static void RemoveStale(const std::string& run_directory);

  ControllerLock(ControllerLock&& other) noexcept;
  ControllerLock& operator=(ControllerLock&&) = delete;
  // The file goes too: a controller that ended in order needs no heir.
  ~ControllerLock();

  // 32 hexadecimal digits.
  const std::string& id() const { return id_; }

 private:
  ControllerLock(std::string path, int fd, std::string id);

  std::string path_;
  int fd_;
  std::string id_;
};

}  // namespace bfly::control
