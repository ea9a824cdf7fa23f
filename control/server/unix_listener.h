// SPDX-License-Identifier: Apache-2.0
// Accepts connections at a Unix socket for a gRPC server. gRPC listens at such sockets too, but
// does not tell who called; here a caller is looked at before gRPC sees the connection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace bfly::control {

class UnixListener {
 public:
  // `take` owns the connected, non-blocking descriptor; called by the listener's thread. The socket
  // is made with mode 0660, in the place of a file that is there. UNAVAILABLE: it cannot be made.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Start(std::string path,
                                                             std::function<void(int fd)> take);
  // No connection is taken any more, and the socket's file is gone.
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
