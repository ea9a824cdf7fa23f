// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a Unix socket. The file's mode keeps others out already; this holds
// where the mode was widened too.
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
  std::vector<gid_t> groups;  // its own and those it is a member of besides
};

// Of a connected Unix socket, as the kernel noted it when the peer connected.
absl::StatusOr<Peer> PeerOf(int fd);

// Whether the peer is root, the owner of the socket's file, or in the file's group.
bool MayUse(const Peer& peer, const struct stat& socket_file);

// PERMISSION_DENIED unless MayUse, for a connection accepted at the socket `path`.
absl::Status CheckPeer(int fd, const std::string& path);

}  // namespace bfly::control
