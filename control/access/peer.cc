// SPDX-License-Identifier: Apache-2.0
#include "control/access/peer.h"

#include <sys/socket.h>

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

bool MayUse(const Peer& peer, const struct stat& socket_file) {
  if (peer.uid == 0 || peer.uid == socket_file.st_uid) return true;
  return (socket_file.st_mode & S_IWGRP) != 0 &&
         std::find(peer.groups.begin(), peer.groups.end(), socket_file.st_gid) != peer.groups.end();
}

absl::Status CheckPeer(int fd, const std::string& path) {
  const absl::StatusOr<Peer> peer = PeerOf(fd);
  if (!peer.ok()) return peer.status();
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  if (MayUse(*peer, file)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("process ", peer->pid, " of user ", peer->uid,
                                                  " may not use ", path,
                                                  ": it is for its owner, its group and root"));
}

}  // namespace bfly::control
