// SPDX-License-Identifier: Apache-2.0
// Sees every call that changes something begin and end, and writes it to the audit log.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "control/access/audit_log.h"
#include "control/access/gate.h"

namespace bfly::control {

// For servers whose methods get bytes (ByteService). A method that viewers may call is not audited.
class AuditFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // Both must outlive the server.
  AuditFactory(const Gate& gate, AuditLog& log) : gate_(gate), log_(log) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  const Gate& gate_;
  AuditLog& log_;
};

}  // namespace bfly::control
