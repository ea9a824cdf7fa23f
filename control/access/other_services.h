// SPDX-License-Identifier: Apache-2.0
// Limits what viewers take of gRPC's own services, health checks and reflection, whose methods do
// not ask the gate.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <atomic>

#include "control/access/gate.h"

namespace bfly::control {

class OtherServicesFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // Streams of all viewers together. A stream of reflection keeps a thread of the server.
  static constexpr int kMostStreams = 8;

  // A viewer's calls count among the calls that the gate lets a viewer begin. What is beyond ends
  // in RESOURCE_EXHAUSTED, and a stream in CANCELLED. The gate must outlive the server.
  explicit OtherServicesFactory(const Gate& gate) : gate_(gate) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  const Gate& gate_;
  std::atomic<int> streams_ = 0;  // open ones of viewers
};

}  // namespace bfly::control
