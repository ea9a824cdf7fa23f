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
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

using grpc::experimental::InterceptionHookPoints;

// Of a larger request the log has only the size. This bounds the memory of lines that wait to be
// written.
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

// Ids of owners (control/server/operator_id.h) are above it. Whoever has the owner's id may change
// the fabric, and the log has more readers than the file of the id.
constexpr uint64_t kHighestOfClients = uint64_t{1} << 63;
constexpr char kOwnersId[] = "(the owner's)";

// Clears ids of the owner, also in messages within. Returns whether there was one.
bool HideOwnersId(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  bool hidden = false;
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        hidden |=
            HideOwnersId(field->is_repeated() ? reflection.MutableRepeatedMessage(message, field, i)
                                              : reflection.MutableMessage(message, field));
      }
    } else if (field->name() == "election_id" &&
               reflection.GetUInt64(*message, field) > kHighestOfClients) {
      reflection.ClearField(message, field);
      hidden = true;
    }
  }
  return hidden;
}

// The error with the numbers replaced that may be the owner's id.
std::string WithoutOwnersId(const std::string& error) {
  constexpr char kDigits[] = "0123456789";
  std::string text;
  for (size_t at = 0; at < error.size();) {
    const size_t begin = std::min(error.find_first_of(kDigits, at), error.size());
    const size_t end = std::min(error.find_first_not_of(kDigits, begin), error.size());
    const std::string number = error.substr(begin, end - begin);
    uint64_t value = 0;
    const bool is_owners = absl::SimpleAtoi(number, &value) && value > kHighestOfClients;
    absl::StrAppend(&text, error.substr(at, begin - at), is_owners ? kOwnersId : number);
    at = end;
  }
  return text;
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
  const bool hidden = HideOwnersId(message.get());
  const std::string text = message->ShortDebugString();
  if (!hidden) return text;
  return absl::StrCat("election_id: ", kOwnersId, text.empty() ? "" : " ", text);
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
    entry_.error = WithoutOwnersId(error);
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
