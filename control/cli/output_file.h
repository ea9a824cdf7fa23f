// SPDX-License-Identifier: Apache-2.0
// A file that a verb writes at its end, after minutes of work.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

class OutputFile {
 public:
  // Finds out whether Write will be able to write `path`, and changes no file. A device, a pipe and
  // the process's own standard output or error stay open and are written into; a named pipe without
  // a reader makes Open wait for one. Any other file is replaced as a whole, and where `path` is a
  // symbolic link, the file that it leads to. The error says what failed, without `path`.
  static absl::StatusOr<OutputFile> Open(const std::string& path);

  // Writes the whole text. Called once. ResourceExhausted or another status: the disk, or whoever
  // reads, did not take it; a file that would be replaced stays as it was.
  absl::Status Write(const std::string& text);

 private:
  using Stream = std::unique_ptr<std::FILE, void (*)(std::FILE*)>;

  OutputFile() = default;

  Stream stream_{nullptr, nullptr};  // null: the file `path_` is replaced
  std::string path_;
};

}  // namespace bfly::control
