// SPDX-License-Identifier: Apache-2.0
// Accepts connections at a Unix socket for a gRPC server. gRPC can listen at such sockets too, but
// does not tell who calls. Here the caller can be checked before gRPC gets the connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace bfly::control {

class UnixListener {
 public:
  // Who may connect, as far as the mode of the socket's file says it: the owner and the group
  // (0660), or every user (0666), whom `take` then checks.
  enum class Door { kGroup, kEverybody };
  // The listener's thread calls `take` with the connected, non-blocking descriptor, which `take`
  // then owns, and closes if the caller may not come in. The socket replaces a file of its name.
  // UNAVAILABLE: it cannot be made.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Start(std::string path, Door door,
                                                             std::function<void(int fd)> take);
  // Stops accepting connections and removes the socket's file.
  ~UnixListener();

 private:
  UnixListener(std::string path, int listening, int stop, std::function<void(int)> take);
  void Run();

  const std::string path_;
  const int listening_;
  const int stop_;  // an eventfd
  const std::function<void(int fd)> take_;
  std::thread thread_;
};

}  // namespace bfly::control
