// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a Unix socket. The mode of the socket's file keeps other users
// out; this check holds even if the mode was widened.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
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

// True if the peer is root, the owner of the socket's file, or in the file's group.
bool MayUse(const Peer& peer, const struct stat& socket_file);

// PERMISSION_DENIED unless MayUse, for a connection that was accepted at the socket `path`.
absl::Status CheckPeer(int fd, const std::string& path);

}  // namespace bfly::control
