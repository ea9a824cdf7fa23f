// SPDX-License-Identifier: Apache-2.0
// Takes updates of circuits from processes of this machine, without gRPC. Updates are the most
// frequent requests of a controller, which waits for them before it answers a set-up
// (AgentUpdateResult in agent.proto).
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/access/peer.h"
#include "control/agent/fabric_host.h"
#include "control/server/packet_socket.h"

namespace bfly::control {

// Returns the new revision, or the errors of FabricHost::UpdateCircuits.
absl::StatusOr<uint64_t> UpdateHost(const v1::AgentUpdateRequest& request, FabricHost& host);

class UpdateSocket {
 public:
  // Listens beside the agent's socket. Returns null if UpdateSocketPath has no place for the
  // socket. `host` must outlive the object.
  static absl::StatusOr<std::unique_ptr<UpdateSocket>> Start(absl::string_view agent_address,
                                                             FabricHost& host);
  // Finishes the update that is in progress.
  ~UpdateSocket();

 private:
  UpdateSocket(SocketFile file, PacketSocket listening, int stop, FabricHost& host);
  void Run();
  // Returns false when the client has ended or must be dropped.
  bool Serve(const PacketSocket& client);

  const SocketFile file_;
  const PacketSocket listening_;
  const int stop_;  // an eventfd
  FabricHost& host_;
  // thread_ only
  std::unique_ptr<char[]> buffer_;
  v1::AgentUpdateRequest request_;
  v1::AgentUpdateResult result_;
  std::string answer_;
  std::thread thread_;
};

}  // namespace bfly::control
