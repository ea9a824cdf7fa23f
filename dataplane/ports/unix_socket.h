// SPDX-License-Identifier: Apache-2.0
// Unix sockets at a path or an abstract address: listening, connecting, and what a crash left.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {

struct UnixAddress {
  std::string path;       // or the name of an abstract address
  bool abstract = false;  // in the network namespace, with no file

  // For messages: "/tmp/a.sock", "@a" for an abstract address.
  std::string Text() const { return abstract ? "@" + path : path; }
};

// `type` is SOCK_STREAM or SOCK_SEQPACKET. Sockets don't block.
absl::StatusOr<OwnedFd> ListenAt(const UnixAddress& address, int type);
// Unavailable: nobody answers.
absl::StatusOr<OwnedFd> ConnectTo(const UnixAddress& address, int type);

// Makes way for a socket at `path`: removes a socket that nobody listens at, which a process left
// behind that crashed. AlreadyExists: somebody listens there. FailedPrecondition: the file is not a
// socket.
absl::Status RemoveStaleSocket(const std::string& path, int type);

}  // namespace bfly::dataplane
