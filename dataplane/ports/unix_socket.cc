// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

constexpr int kBacklog = 16;
// The kernel shows this user instead of each one that this process's user namespace does not know
// (/proc/sys/kernel/overflowuid). It may be anybody.
constexpr uid_t kUnknownUser = 65534;

struct KernelAddress {
  sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

absl::StatusOr<KernelAddress> ToKernel(const UnixAddress& address) {
  KernelAddress kernel;
  const size_t first = address.abstract ? 1 : 0;
  if (address.path.empty() || first + address.path.size() >= sizeof(kernel.un.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket \"", address.Text(),
                                                   "\": its name must have 1 to ",
                                                   sizeof(kernel.un.sun_path) - 2, " bytes"));
  }
  address.path.copy(kernel.un.sun_path + first, address.path.size());
  kernel.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + first +
                                         address.path.size() + (address.abstract ? 0 : 1));
  return kernel;
}

absl::Status Failed(const UnixAddress& address, const char* what) {
  return absl::UnavailableError(
      absl::StrCat("socket ", address.Text(), ": cannot ", what, ": ", strerror(errno)));
}

OwnedFd NewSocket(int type) {
  return OwnedFd(socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Returns 0 or the errno.
int Connect(const KernelAddress& to, int type, OwnedFd& connection) {
  connection = NewSocket(type);
  return connection && connect(connection.get(), to.get(), to.length) == 0 ? 0 : errno;
}

}  // namespace

absl::StatusOr<OwnedFd> ListenAt(const UnixAddress& address, int type) {
  const auto kernel = ToKernel(address);
  if (!kernel.ok()) return kernel.status();
  if (!address.abstract) {
    if (absl::Status status = RemoveStaleSocket(address.path, type); !status.ok()) return status;
  }
  OwnedFd listener = NewSocket(type);
  if (!listener || bind(listener.get(), kernel->get(), kernel->length) != 0) {
    return Failed(address, "bind");
  }
  if (listen(listener.get(), kBacklog) != 0) return Failed(address, "listen");
  return listener;
}

absl::StatusOr<OwnedFd> ConnectTo(const UnixAddress& address, int type) {
  const auto kernel = ToKernel(address);
  if (!kernel.ok()) return kernel.status();
  OwnedFd connection;
  if (Connect(*kernel, type, connection) != 0) return Failed(address, "connect");
  return connection;
}

absl::Status CheckPeer(const UnixAddress& address, const OwnedFd& connection) {
  if (!address.abstract) return absl::OkStatus();
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Failed(address, "ask for the peer's user");
  }
  const uid_t user = geteuid();
  if (peer.uid == 0 || (peer.uid == user && user != kUnknownUser)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("socket ", address.Text(), ": a process of user ", peer.uid,
                   " is at the other end; without socket-abstract=no it is for root",
                   user == 0 ? "" : absl::StrCat(" and user ", user), " only"));
}

absl::Status RemoveStaleSocket(const std::string& path, int type) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return absl::OkStatus();
  if (!S_ISSOCK(file.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": a file that is not a socket is in the way; remove it"));
  }
  const auto kernel = ToKernel({.path = path});
  if (!kernel.ok()) return kernel.status();
  OwnedFd connection;
  if (Connect(*kernel, type, connection) != ECONNREFUSED) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, ": another process listens at this socket; stop it, or name another"));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot remove the socket that nobody listens at: ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
