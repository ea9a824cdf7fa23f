// SPDX-License-Identifier: Apache-2.0
#include "control/server/grpc_server.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/access/audit_interceptor.h"
#include "control/access/other_services.h"
#include "control/access/peer.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

// How long open calls may take to end by themselves.
constexpr std::chrono::milliseconds kGrace{200};
// How long a client may take to agree on encryption, and to begin to speak HTTP/2.
constexpr std::chrono::milliseconds kHandshake{10'000};
// The descriptors that a daemon asks for. The gate keeps something of each descriptor that it has
// seen, so there is a reason not to ask for all that the system would give.
constexpr rlim_t kDescriptors = 4096;

// The plugin of reflection is of the process, and so of every server.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) {
      return absl::StrContains(plugin->name(), "reflection");
    });
  }
};

// Raises the process's limit of descriptors. Without the right to do so it stays as it is.
void MakeRoomForConnections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kDescriptors) return;
  limit.rlim_cur = std::min(limit.rlim_max, kDescriptors);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The system does not say that the machine at the other end of a connection died, and a stream of
// that machine may hold the primary role. A client that never begins to speak holds a descriptor.
void EndSilentConnections(const GrpcServer::Options& options, grpc::ServerBuilder& builder) {
  if (options.tcp_addresses.empty()) return;
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(kHandshake.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(options.keepalive_time.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(options.keepalive_timeout.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Clients may ask as often as that, also while they call nothing.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(options.keepalive_timeout.count()));
}

// Returns the descriptor for gRPC, or closes `fd`.
absl::StatusOr<int> Admit(Gate* gate, int fd, const SocketFile& file) {
  if (gate != nullptr) return gate->Admit(fd, file);
  if (absl::Status status = CheckPeer(fd, file); !status.ok()) {
    close(fd);
    return status;
  }
  return fd;
}

}  // namespace

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, Gate* gate)
    : server_(std::move(server)), gate_(gate) {}

GrpcServer::~GrpcServer() { Stop(); }

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const Options& options, const std::vector<grpc::Service*>& services) {
  for (const std::string& address : options.sockets) {
    if (absl::Status status = PrepareSocket(address); !status.ok()) return status;
  }
  static const bool plugins = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(plugins);
  MakeRoomForConnections();

  grpc::ServerBuilder builder;
  if (!options.reflection) builder.SetOption(std::make_unique<WithoutReflection>());
  for (const std::string& address : options.tcp_addresses) {
    builder.AddListeningPort(address, options.tls);
  }
  if (options.gate != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
    factories.push_back(std::make_unique<OtherServicesFactory>(*options.gate));
    if (options.audit != nullptr)
      factories.push_back(std::make_unique<AuditFactory>(*options.gate, *options.audit));
    builder.experimental().SetInterceptorCreators(std::move(factories));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  grpc::ResourceQuota quota("bfly");
  quota.SetMaxThreads(options.max_threads);
  if (options.max_bytes != 0) {
    quota.Resize(options.max_bytes);
    // Without this a connection's window grows to megabytes that nobody reads.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  }
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  if (options.max_calls_of_connection != 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_calls_of_connection);
  }
  EndSilentConnections(options, builder);
  // Two daemons must never share a port by accident.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);

  std::unique_ptr<GrpcServer> started(new GrpcServer(builder.BuildAndStart(), options.gate));
  grpc::Server* server = started->server_.get();
  if (server == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen at ",
                                               absl::StrJoin(options.tcp_addresses, ", "),
                                               "; is the address in use?"));
  }
  const auto door = options.gate != nullptr && options.gate->rules().admits_other_users()
                        ? UnixListener::Door::kEverybody
                        : UnixListener::Door::kGroup;
  for (const std::string& address : options.sockets) {
    const auto take = [server, gate = options.gate](int fd, const SocketFile& file) {
      const absl::StatusOr<int> admitted = Admit(gate, fd, file);
      if (admitted.ok()) grpc::AddInsecureChannelFromFd(server, *admitted);
    };
    auto listener = UnixListener::Start(SocketPath(address), door, take);
    if (!listener.ok()) return listener.status();
    started->listeners_.push_back(*std::move(listener));
  }
  return started;
}

void GrpcServer::SetServing(const std::string& service, bool serving) {
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(service, serving);
}

std::shared_ptr<grpc::Channel> GrpcServer::ConnectAs(Caller caller) {
  int ends[2];
  if (gate_ == nullptr || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return nullptr;
  for (const int end : ends) fcntl(end, F_SETFL, O_NONBLOCK);
  grpc::AddInsecureChannelFromFd(server_.get(), gate_->AdmitAs(std::move(caller), ends[0]));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomInsecureChannelFromFd("bfly-controller", ends[1], arguments);
}

void GrpcServer::Stop() {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  listeners_.clear();
  server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  server_->Wait();
  server_.reset();
}

}  // namespace bfly::control
