// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

absl::Status CannotRead(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(Quotable(path), ": cannot be read"));
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ > STDIN_FILENO) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<std::string> ReadTopologyText(const std::string& path) {
  const OpenFile file(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return CannotRead(path, errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return CannotRead(path, errno);
  if (S_ISDIR(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Quotable(path), ": is a directory, not a topology file"));
  }
  // One byte more than allowed tells ParseTopology that the text is too long. The bound also ends
  // the read of a device file that has no end.
  std::string text(kMaxTopologyFileBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = read(file.get(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, errno);
    if (got == 0) break;
    length += got;
  }
  text.resize(length);
  return text;
}

}  // namespace bfly::control
