// SPDX-License-Identifier: Apache-2.0
// Ensures that one controller works with a state directory, where the intent is kept. It holds a
// lock on STATE_DIR/intent.lock for as long as it lives.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/server/file_lock.h"

namespace bfly::control {

class StateLock {
 public:
  // Creates the directory, for its owner and its group alone. ALREADY_EXISTS: another controller
  // works with it. PERMISSION_DENIED: the directory cannot be made or written, or other users could
  // change what is in it.
  static absl::StatusOr<StateLock> Take(const std::string& state_directory);

 private:
  explicit StateLock(FileLock file) : file_(std::move(file)) {}

  FileLock file_;
};

}  // namespace bfly::control
