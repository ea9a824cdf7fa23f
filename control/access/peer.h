// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a Unix socket. The mode of the socket's file keeps other users
// out; this check holds even if the mode was widened.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  std::vector<gid_t> groups;  // its group and its supplementary groups
};

// The peer of a connected Unix socket, as the kernel recorded it when the peer connected.
absl::StatusOr<Peer> PeerOf(int fd);

// The file of a socket at which this process listens. Other files may come to its path, because the
// owner of a directory above may rename what is there; who may use the socket is asked of its own
// file.
class SocketFile {
 public:
  // Call it right after bind(). PERMISSION_DENIED: the file at `path` is not a socket, or belongs
  // to another user.
  static absl::StatusOr<SocketFile> Open(const std::string& path);
  SocketFile(SocketFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  // Where the file was when it was opened.
  const std::string& path() const { return path_; }
  // Sets its mode, whatever stands at the path now. False, with errno: it cannot be set.
  bool SetMode(mode_t mode) const;
  // Its owner, group and mode now.
  struct stat info() const;

 private:
  SocketFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // open with O_PATH; -1: moved away
};

// True if the peer is root, the owner of the socket's file, or in the file's group.
bool MayUse(const Peer& peer, const struct stat& socket_file);

// PERMISSION_DENIED unless MayUse, for a connection that was accepted at the socket of this file.
absl::Status CheckPeer(int fd, const SocketFile& file);

}  // namespace bfly::control
