// SPDX-License-Identifier: Apache-2.0
// Ensures that one controller works with a state directory, where the intent is kept.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

class StateLock {
 public:
  // Creates the directory, for its owner and its group alone. ALREADY_EXISTS: another controller
  // works with it. PERMISSION_DENIED: the directory cannot be made or opened. If it is the run
  // directory, ControllerLock guards it, and this lock does nothing.
  static absl::StatusOr<StateLock> Take(const std::string& state_directory,
                                        const std::string& run_directory);

  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&&) = delete;
  ~StateLock();

 private:
  explicit StateLock(int fd) : fd_(fd) {}

  int fd_;  // of the directory; -1: none
};

}  // namespace bfly::control
