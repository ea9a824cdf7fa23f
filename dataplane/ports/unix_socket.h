// SPDX-License-Identifier: Apache-2.0
// Unix sockets at a path or an abstract address: listening, connecting, and removing a socket that
// a crash left.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

struct UnixAddress {
  std::string path;       // a path, or the name of an abstract address
  bool abstract = false;  // a name in the network namespace, without a file

  // For messages: "/tmp/a.sock", "@a" for an abstract address.
  std::string Text() const { return abstract ? "@" + path : path; }
};

// `type` is SOCK_STREAM or SOCK_SEQPACKET. The sockets do not block.
absl::StatusOr<OwnedFd> ListenAt(const UnixAddress& address, int type);
// Unavailable: no process answers.
absl::StatusOr<OwnedFd> ConnectTo(const UnixAddress& address, int type);

// PermissionDenied: the process at the other end of `connection` belongs neither to root nor to
// this process's user, and `address` is abstract. An abstract address has no file mode, so
// everybody in the network namespace can connect and listen there.
absl::Status CheckPeer(const UnixAddress& address, const OwnedFd& connection);

// Prepares `path` for a socket: removes a socket at which no process listens, because a crashed
// process left it. AlreadyExists: a process listens there. FailedPrecondition: the file is not a
// socket.
absl::Status RemoveStaleSocket(const std::string& path, int type);

}  // namespace bfly::dataplane
