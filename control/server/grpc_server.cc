// SPDX-License-Identifier: Apache-2.0
#include "control/server/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

// Time for open calls to end by themselves.
constexpr std::chrono::milliseconds kGrace{200};
// A batch over a million circuits is one message of some 30 MB.
constexpr int kMaxRequestBytes = 256 << 20;

}  // namespace

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, std::vector<std::string> addresses)
    : server_(std::move(server)), addresses_(std::move(addresses)) {}

GrpcServer::~GrpcServer() { Stop(); }

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const Options& options, const std::vector<grpc::Service*>& services) {
  for (const std::string& address : options.addresses) {
    if (absl::Status status = PrepareSocket(address); !status.ok()) return status;
  }
  static const bool plugins = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(plugins);

  grpc::ServerBuilder builder;
  for (const std::string& address : options.addresses) {
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  builder.SetResourceQuota(grpc::ResourceQuota("bfly").SetMaxThreads(options.max_threads));
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  // Two daemons must never share a port by accident.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);

  // Owner and group may connect; the mask covers the moment between bind and chmod.
  const mode_t mask = umask(0117);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  umask(mask);
  if (server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen at ", absl::StrJoin(options.addresses, ", "),
                     "; is the address in use, or the directory not writable?"));
  }
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(server), options.addresses));
}

void GrpcServer::SetServing(const std::string& service, bool serving) {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(service, serving);
}

void GrpcServer::Stop() {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  server_->Wait();
  server_.reset();
  for (const std::string& address : addresses_) {
    if (const std::string path = SocketPath(address); !path.empty()) unlink(path.c_str());
  }
}

}  // namespace bfly::control
