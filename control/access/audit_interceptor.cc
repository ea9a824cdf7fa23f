// SPDX-License-Identifier: Apache-2.0
#include "control/access/audit_interceptor.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using grpc::experimental::InterceptionHookPoints;

// A larger request is told by its size. This bounds the memory of what waits to be written.
constexpr size_t kMaxShown = 4096;

// "/bfly.v1.Fabric/Load" as "bfly.v1.Fabric.Load", the name of protobuf.
std::string FullName(const char* method) {
  std::string name = method;
  if (!name.empty() && name[0] == '/') name.erase(0, 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string NameOfCode(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

std::string Text(const std::string& call, const grpc::ByteBuffer& bytes) {
  const google::protobuf::MethodDescriptor* method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(call);
  if (method == nullptr) return absl::StrCat("(", bytes.Length(), " bytes)");
  const google::protobuf::Message* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(method->input_type());
  const std::unique_ptr<google::protobuf::Message> message(prototype->New());
  grpc::ByteBuffer copy = bytes;
  grpc::ProtoBufferReader reader(&copy);
  if (!message->ParseFromZeroCopyStream(&reader))
    return absl::StrCat("(", bytes.Length(), " bytes that are not a ", method->input_type()->name(),
                        ")");
  return message->ShortDebugString();
}

class Audit final : public grpc::experimental::Interceptor {
 public:
  Audit(const Gate& gate, AuditLog& log, grpc::experimental::ServerRpcInfo* info) : log_(log) {
    entry_.begin = std::chrono::system_clock::now();
    entry_.caller = gate.Of(*info->server_context());
    entry_.beyond_role = entry_.caller.role < gate.RoleOf(info->method());
    entry_.call = FullName(info->method());
  }
  // A call whose client goes away ends without a status.
  ~Audit() override {
    if (!written_) Write("CANCELLED", "the client has gone");
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      const auto* bytes = static_cast<const grpc::ByteBuffer*>(methods->GetRecvMessage());
      if (bytes != nullptr && bytes->Valid()) Count(*bytes);
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      Write(NameOfCode(status.error_code()), status.error_message());
    }
    methods->Proceed();
  }

 private:
  void Count(const grpc::ByteBuffer& bytes) {
    if (entry_.messages++ > 0) return;
    const size_t length = bytes.Length();
    if (length > kMaxShown) {
      entry_.request = [length] { return absl::StrCat("(", length, " bytes)"); };
    } else {
      entry_.request = [call = entry_.call, bytes] { return Text(call, bytes); };
    }
  }
  void Write(const std::string& status, const std::string& error) {
    written_ = true;
    entry_.took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begun_);
    entry_.status = status;
    entry_.error = error;
    log_.Write(std::move(entry_));
  }

  AuditLog& log_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  AuditEntry entry_;
  bool written_ = false;
};

}  // namespace

grpc::experimental::Interceptor* AuditFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  return gate_.RoleOf(info->method()) > Role::kViewer ? new Audit(gate_, log_, info) : nullptr;
}

}  // namespace bfly::control
