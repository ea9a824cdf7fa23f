// SPDX-License-Identifier: Apache-2.0
// Accepts connections at a Unix socket for a gRPC server. gRPC can listen at such sockets too, but
// does not tell who calls. Here the caller can be checked before gRPC gets the connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "control/access/peer.h"

namespace bfly::control {

class UnixListener {
 public:
  // Who may connect, as far as the mode of the socket's file says it: the owner and the group
  // (0660), or every user (0666), whom `take` then checks.
  enum class Door { kGroup, kEverybody };
  // Gets the connected, non-blocking descriptor, which it then owns, and closes if the caller may
  // not come in, and the file of the socket.
  using Take = std::function<void(int fd, const SocketFile& file)>;
  // The listener's thread calls `take`. The socket replaces a file of its name. UNAVAILABLE: it
  // cannot be made. PERMISSION_DENIED: another file took its place at once.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Start(const std::string& path, Door door,
                                                             Take take);
  // Stops accepting connections and removes the socket's file.
  ~UnixListener();

 private:
  UnixListener(SocketFile file, int listening, int stop, Take take);
  void Run();

  const SocketFile file_;
  const int listening_;
  const int stop_;  // an eventfd
  const Take take_;
  std::thread thread_;
};

}  // namespace bfly::control
