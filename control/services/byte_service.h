// SPDX-License-Identifier: Apache-2.0
// A service whose methods get bytes and parse them themselves. gRPC's own callback methods answer
// malformed bytes with UNIMPLEMENTED, and parse a message however much memory it takes.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/service_type.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/access/gate.h"
#include "control/server/message_bytes.h"
#include "control/services/call_desk.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

class ByteService : public grpc::Service {
 protected:
  using Context = grpc::CallbackServerContext;

  // `name`: "bfly.v1.Fabric".
  ByteService(const char* name, CallDesk& desk) : name_(name), desk_(desk) {}

  CallDesk& desk() { return desk_; }

  // Adds a call that a thread of the desk carries out. Viewers may call what changes nothing.
  template <class Self, class Request, class Response>
  void AddCall(const char* method, CallDesk::Lane lane,
               grpc::Status (Self::*handle)(const grpc::ServerContextBase*, const Request*,
                                            Response*)) {
    CallDesk::Handler handler = [self = static_cast<Self*>(this), handle](
                                    const grpc::ServerContextBase* context,
                                    const grpc::ByteBuffer& bytes, grpc::ByteBuffer* answer) {
      Request request;
      if (absl::Status status = Parse(bytes, &request); !status.ok()) return ToGrpc(status);
      Response response;
      grpc::Status status = (self->*handle)(context, &request, &response);
      if (status.ok()) *answer = Serialize(response);
      return status;
    };
    const bool reads = lane == CallDesk::Lane::kRead || lane == CallDesk::Lane::kDryRun;
    AddUnary(method, reads ? Role::kViewer : Role::kOperator,
             [this, lane, handler = std::move(handler)](
                 Context* context, const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
               return desk_.Take(lane, *Request::descriptor(), context, request, response, handler);
             });
  }

  // Adds a call that holds no thread while it waits. `begin(context, reactor, request, answer)` has
  // the reactor finished at some time, and keeps `request` until then. `answer` lives as long.
  // Operators may call it.
  template <class Request, class Begin>
  void AddQuickCall(const char* method, Begin begin) {
    AddUnary(
        method, Role::kOperator,
        [this, begin = std::move(begin)](Context* context, const grpc::ByteBuffer* bytes,
                                         grpc::ByteBuffer* answer) {
          grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
          auto parsed = std::make_shared<ParsedRequest<Request>>(desk_.resources().order_bytes);
          absl::Status status = desk_.TakeOrder(*bytes, *Request::descriptor(), &parsed->taken);
          if (status.ok()) status = Parse(*bytes, &parsed->request);
          if (status.ok()) {
            begin(context, reactor, std::shared_ptr<const Request>(parsed, &parsed->request),
                  answer);
          } else {
            reactor->Finish(ToGrpc(status));
          }
          return reactor;
        });
  }

  // Adds a call with one request and many answers. `handle(context, request)` makes the reactor.
  template <class Handle>
  void AddServerStream(const char* method, Role needed, Handle handle) {
    using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;
    const std::string& name = Declare(method, needed);
    Add(name, grpc::internal::RpcMethod::SERVER_STREAMING,
        new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
            [this, &name, handle = std::move(handle)](Context* context,
                                                      const grpc::ByteBuffer* request) -> Reactor* {
              const absl::Status may = Check(*context, name);
              if (!may.ok()) return new Refused<Reactor>(may);
              return handle(context, request);
            }));
  }
  // Adds a call with many requests and many answers. `handle(context)` makes the reactor.
  template <class Handle>
  void AddStream(const char* method, Role needed, Handle handle) {
    using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
    const std::string& name = Declare(method, needed);
    Add(name, grpc::internal::RpcMethod::BIDI_STREAMING,
        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
            [this, &name, handle = std::move(handle)](Context* context) -> Reactor* {
              const absl::Status may = Check(*context, name);
              if (!may.ok()) return new Refused<Reactor>(may);
              return handle(context);
            }));
  }

 private:
  // A request and the memory that was taken for it.
  template <class Request>
  struct ParsedRequest {
    explicit ParsedRequest(Resource& bytes) : order_bytes(bytes) {}
    ~ParsedRequest() { order_bytes.Give(taken); }
    ParsedRequest(const ParsedRequest&) = delete;
    ParsedRequest& operator=(const ParsedRequest&) = delete;

    Resource& order_bytes;
    uint64_t taken = 0;
    Request request;
  };

  // Ends a stream at once, with an error.
  template <class Reactor>
  class Refused final : public Reactor {
   public:
    explicit Refused(const absl::Status& status) { this->Finish(ToGrpc(status)); }
    void OnDone() override { delete this; }
  };

  template <class Handle>
  void AddUnary(const char* method, Role needed, Handle handle) {
    const std::string& name = Declare(method, needed);
    Add(name, grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
            [this, &name, handle = std::move(handle)](
                Context* context, const grpc::ByteBuffer* request,
                grpc::ByteBuffer* response) -> grpc::ServerUnaryReactor* {
              const absl::Status may = Check(*context, name);
              if (may.ok()) return handle(context, request, response);
              grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
              reactor->Finish(ToGrpc(may));
              return reactor;
            }));
  }

  // Returns the name of the method in a request, "/bfly.v1.Fabric/Load".
  const std::string& Declare(const char* method, Role needed) {
    const std::string& name = methods_.emplace_back(absl::StrCat("/", name_, "/", method));
    if (desk_.gate() != nullptr) desk_.gate()->NeedsRole(name, needed);
    return name;
  }
  absl::Status Check(const Context& context, const std::string& method) const {
    return desk_.gate() == nullptr ? absl::OkStatus() : desk_.gate()->Check(context, method);
  }
  void Add(const std::string& name, grpc::internal::RpcMethod::RpcType type,
           grpc::internal::MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(name.c_str(), type, nullptr));
    MarkMethodRawCallback(methods_.size() - 1, handler);
  }

  const char* const name_;
  CallDesk& desk_;
  std::deque<std::string> methods_;  // gRPC keeps pointers to them
};

}  // namespace bfly::control
