// SPDX-License-Identifier: Apache-2.0
// A gRPC server as both daemons run it: Unix sockets for root, owner and group only, health and
// reflection services, and a bounded number of threads that sleep if nobody calls.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/access/audit_log.h"
#include "control/access/gate.h"
#include "control/server/unix_listener.h"

namespace bfly::control {

class GrpcServer {
 public:
  struct Options {
    std::vector<std::string> sockets;  // from ListenAddress()
    // From TcpAddress(), and from TlsServer(), which TCP addresses need.
    std::vector<std::string> tcp_addresses;
    std::shared_ptr<grpc::ServerCredentials> tls;
    // With TCP addresses: how often the client of a silent connection is asked whether it is still
    // there, and how long its answer may take before the connection ends.
    std::chrono::milliseconds keepalive_time{10'000}, keepalive_timeout{5'000};
    // Says who may connect, and knows callers again. It must outlive the server. Without a gate,
    // root and the owner and the group of a socket may connect.
    Gate* gate = nullptr;
    // Where calls are written that need more than the role of a viewer; needs a gate, and must
    // outlive the server.
    AuditLog* audit = nullptr;
    bool reflection = true;
    // Calls that find no free thread get RESOURCE_EXHAUSTED.
    int max_threads = 64;
    // The size of one message; a larger one gets RESOURCE_EXHAUSTED.
    int max_message_bytes = 256 << 20;
    // The memory that connections and calls may take together; 0: no limit. gRPC ends calls and
    // connections that take more.
    size_t max_bytes = 0;
    // The calls of one connection; further calls of its client wait in the connection. 0: no limit.
    int max_calls_of_connection = 0;
  };
  // The services must outlive the server. Raises the limit of this process's descriptors.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const Options& options, const std::vector<grpc::Service*>& services);
  ~GrpcServer();

  // Sets the status in grpc.health.v1; "" is the server as a whole. Everything starts as serving.
  void SetServing(const std::string& service, bool serving);

  // Returns a connection of this process to the server, by which `caller` calls; needs a gate. It
  // does not come back once it is broken. Null: the process has no descriptors left.
  std::shared_ptr<grpc::Channel> ConnectAs(Caller caller);

  // Refuses new calls, cancels open calls after a moment, removes the sockets. Idempotent.
  void Stop();

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, Gate* gate);

  std::unique_ptr<grpc::Server> server_;
  Gate* const gate_;
  std::vector<std::unique_ptr<UnixListener>> listeners_;
};

}  // namespace bfly::control
