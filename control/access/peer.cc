// SPDX-License-Identifier: Apache-2.0
#include "control/access/peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace bfly::control {

absl::StatusOr<Peer> PeerOf(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("SO_PEERCRED: ", std::strerror(errno)));
  }
  Peer peer{.pid = credentials.pid, .uid = credentials.uid, .groups = {}};
  // ERANGE says how much room the list needs.
  length = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &length) != 0 && errno == ERANGE) {
    peer.groups.resize(length / sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) != 0) {
      peer.groups.clear();
    }
  }
  peer.groups.push_back(credentials.gid);
  return peer;
}

absl::StatusOr<SocketFile> SocketFile::Open(const std::string& path) {
  SocketFile file(path, open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (file.fd_ < 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot open the socket ", path, ": ", std::strerror(errno)));
  }
  const struct stat info = file.info();
  if (!S_ISSOCK(info.st_mode) || info.st_uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat("another file took the place of the socket ", path));
  }
  return file;
}

SocketFile::~SocketFile() {
  if (fd_ >= 0) close(fd_);
}

bool SocketFile::SetMode(mode_t mode) const {
  // fchmod does not take a descriptor with O_PATH.
  return chmod(absl::StrCat("/proc/self/fd/", fd_).c_str(), mode) == 0;
}

struct stat SocketFile::info() const {
  struct stat info {};
  // Nobody but root may use a socket about which nothing is known.
  if (fstat(fd_, &info) != 0) info.st_uid = static_cast<uid_t>(-1);
  return info;
}

bool MayUse(const Peer& peer, const struct stat& socket_file) {
  if (peer.uid == 0 || peer.uid == socket_file.st_uid) return true;
  return (socket_file.st_mode & S_IWGRP) != 0 &&
         std::find(peer.groups.begin(), peer.groups.end(), socket_file.st_gid) != peer.groups.end();
}

absl::Status CheckPeer(int fd, const SocketFile& file) {
  const absl::StatusOr<Peer> peer = PeerOf(fd);
  if (!peer.ok()) return peer.status();
  if (MayUse(*peer, file.info())) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("process ", peer->pid, " of user ", peer->uid,
                                                  " may not use ", file.path(),
                                                  ": it is for its owner, its group and root"));
}

}  // namespace bfly::control
