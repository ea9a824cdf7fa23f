// SPDX-License-Identifier: Apache-2.0
#include "control/controller/agent_channel.h"

#include <grpcpp/grpcpp.h>

#include "control/access/tls.h"

namespace bfly::control {

absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelToAgent(const std::string& address,
                                                              const TlsFlags& tls) {
  const auto credentials = CredentialsFor(address, tls);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments;
  // A data plane that comes back is found at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // In spite of its name this is the time that one attempt may take. On a busy machine a handshake
  // needs it.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);  // counters of millions of links
  return grpc::CreateCustomChannel(address, *credentials, arguments);
}

}  // namespace bfly::control
