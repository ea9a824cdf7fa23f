// SPDX-License-Identifier: Apache-2.0
#include "control/cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "control/measure/core/journal.h"

namespace bfly::control {
namespace {

void Close(std::FILE* stream) { std::fclose(stream); }
void LeaveOpen(std::FILE*) {}

// The standard stream that `file` is: /dev/stdout, or the file to which the shell redirected it. To
// replace that file would lose what the verb prints.
std::FILE* StandardStream(const struct stat& file) {
  for (std::FILE* stream : {stdout, stderr}) {
    struct stat of_stream = {};
    if (fstat(fileno(stream), &of_stream) == 0 && of_stream.st_dev == file.st_dev &&
        of_stream.st_ino == file.st_ino) {
      return stream;
    }
  }
  return nullptr;
}

// Where the symbolic links that begin at `path` end. Nothing need be there.
std::string TargetOf(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path target = path;
  std::error_code no_link;
  while (true) {
    const fs::path next = fs::read_symlink(target, no_link);
    if (no_link) return target;
    target = target.parent_path() / next;
  }
}

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  OutputFile output;
  struct stat file = {};
  if (stat(path.c_str(), &file) == 0) {
    signal(SIGPIPE, SIG_IGN);  // Write says that whoever reads has ended
    if (std::FILE* stream = StandardStream(file)) {
      output.stream_ = Stream(stream, LeaveOpen);
      return output;
    }
    const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor < 0) return absl::ErrnoToStatus(errno, "open");
    output.stream_ = Stream(fdopen(descriptor, "w"), Close);
    if (!output.stream_) return absl::ErrnoToStatus(errno, "open");
    if (!S_ISREG(file.st_mode)) return output;
    output.stream_.reset();
  } else if (errno != ENOENT) {  // such as links that lead back to themselves
    return absl::ErrnoToStatus(errno, "open");
  }
  output.path_ = TargetOf(path);
  if (absl::Status status = CheckWriteFile(output.path_); !status.ok()) return status;
  return output;
}

absl::Status OutputFile::Write(const std::string& text) {
  if (!stream_) return WriteFile(path_, text);
  if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size() ||
      std::fflush(stream_.get()) != 0) {
    return absl::ErrnoToStatus(errno, "write");
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
