// SPDX-License-Identifier: Apache-2.0
// A gRPC server as both daemons run it: Unix sockets for root, owner and group only, health and
// reflection on, a bounded number of threads that sleep when nobody calls.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/server/unix_listener.h"

namespace bfly::control {

class GrpcServer {
 public:
  struct Options {
    std::vector<std::string> addresses;  // from ListenAddress() and InsecureTcpAddress()
    // Calls beyond what these can serve get RESOURCE_EXHAUSTED.
    int max_threads = 64;
    // Of one message; beyond it RESOURCE_EXHAUSTED.
    int max_message_bytes = 256 << 20;
    // What connections and calls may take together; 0: as much as they do. gRPC ends calls and
    // connections when they take more.
    size_t max_bytes = 0;
    // Of one connection; what its client begins beyond them waits there. 0: no limit.
    int max_calls_of_connection = 0;
  };
  // The services must outlive the server.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const Options& options, const std::vector<grpc::Service*>& services);
  ~GrpcServer();

  // grpc.health.v1; "" is the server as a whole. Everything starts as serving.
  void SetServing(const std::string& service, bool serving);

  // Refuses new calls, cancels what is still open after a moment, removes the sockets. Idempotent.
  void Stop();

 private:
  explicit GrpcServer(std::unique_ptr<grpc::Server> server);

  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<UnixListener>> listeners_;
};

}  // namespace bfly::control
