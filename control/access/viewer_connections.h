// SPDX-License-Identifier: Apache-2.0
// The connections that viewers hold at Unix sockets. Each takes a descriptor of the daemon, which
// owner, operators, data planes and files need too.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::control {

// Thread-safe.
class ViewerConnections {
 public:
  // All viewers together hold at most a sixteenth of the 4,096 descriptors that a daemon asks for
  // (control/server/grpc_server.cc). One viewer (Caller::who) holds at most a quarter of that, so
  // that one alone does not keep the others out.
  static constexpr size_t kMostOfAllViewers = 256;
  static constexpr size_t kMostPerViewer = 64;

  // RESOURCE_EXHAUSTED: the viewer, or all viewers together, hold as many as they may.
  absl::Status CheckRoom(const std::string& who);
  // Counts a connected socket until it is closed. Whoever closes it need not say so.
  void Add(int fd, std::string who);

 private:
  struct Connection {
    // Of the socket. Another file may get its descriptor later, but not its inode while it is open.
    bool is_open() const;

    int fd;
    dev_t device;
    ino_t inode;
    std::string who;
  };

  std::mutex mutex_;
  std::vector<Connection> held_;  // mutex_; some may have been closed
};

}  // namespace bfly::control
