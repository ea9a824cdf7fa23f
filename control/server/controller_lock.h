// SPDX-License-Identifier: Apache-2.0
// Ensures that a run directory has one controller, which holds a lock on RUN_DIR/controller.lock
// for as long as it lives. The file keeps the controller's id, so that data planes recognize a
// controller that starts after a crash as the same owner.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/server/file_lock.h"

namespace bfly::control {

class ControllerLock {
 public:
  // Creates the directory. ALREADY_EXISTS: another controller, which the error names, holds the
  // lock for more than a second. A process that was just killed releases it sooner. A controller
  // that ends in order removes the file.
  static absl::StatusOr<ControllerLock> Take(const std::string& run_directory);
  // Removes the file of a killed controller. Does nothing while a controller runs.
  static void RemoveStale(const std::string& run_directory);

  // 32 hexadecimal digits.
  const std::string& id() const { return id_; }

 private:
  ControllerLock(FileLock file, std::string id) : file_(std::move(file)), id_(std::move(id)) {}

  FileLock file_;
  std::string id_;
};

}  // namespace bfly::control
