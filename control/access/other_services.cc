// SPDX-License-Identifier: Apache-2.0
#include "control/access/other_services.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"

namespace bfly::control {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

class OtherCall final : public grpc::experimental::Interceptor {
 public:
  OtherCall(const Gate& gate, std::atomic<int>& streams, ServerRpcInfo& info)
      : gate_(gate), streams_(streams), info_(info) {}
  ~OtherCall() override {
    if (is_counted_) --streams_;
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA))
      Begin();
    if (!may_.ok() && methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS))
      methods->ModifySendStatus(
          {static_cast<grpc::StatusCode>(may_.code()), std::string(may_.message())});
    methods->Proceed();
  }

 private:
  // Before this gRPC does not know whose call it is.
  void Begin() {
    const grpc::ServerContextBase& context = *info_.server_context();
    if (gate_.Of(context).role > Role::kViewer) return;
    may_ = gate_.Check(context, info_.method());
    if (info_.type() == ServerRpcInfo::Type::UNARY) return;
    is_counted_ = true;
    if (++streams_ > OtherServicesFactory::kMostStreams && may_.ok())
      may_ = absl::ResourceExhaustedError("viewers have too many streams of this kind");
    // It would go on until its client ends it.
    if (!may_.ok()) context.TryCancel();
  }

  const Gate& gate_;
  std::atomic<int>& streams_;
  ServerRpcInfo& info_;
  bool is_counted_ = false;  // among the streams
  absl::Status may_;
};

}  // namespace

grpc::experimental::Interceptor* OtherServicesFactory::CreateServerInterceptor(
    ServerRpcInfo* info) {
  if (absl::StartsWith(info->method(), "/bfly.")) return nullptr;
  return new OtherCall(gate_, streams_, *info);
}

}  // namespace bfly::control
