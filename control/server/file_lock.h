// SPDX-License-Identifier: Apache-2.0
// A file that one process at a time holds locked. It stays after a kill, and is removed at an end
// in order.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

class FileLock {
 public:
  // Makes the file if there is none, for its owner alone, and follows no link. ALREADY_EXISTS:
  // another process holds it, and still does after a second; a process that was just killed would
  // let go within it. PERMISSION_DENIED, with the text of the system's error: it cannot be opened.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  // Removes the file of a killed process. Does nothing while a process holds it.
  static void RemoveStale(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  // Removes the file.
  ~FileLock();

  // Lets go of the file and leaves it there.
  void Leave();
  // The open file, to read and to write.
  int fd() const { return fd_; }

 private:
  FileLock(std::string path, int fd);

  std::string path_;
  int fd_;
};

}  // namespace bfly::control
