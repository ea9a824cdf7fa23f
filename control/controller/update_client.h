// SPDX-License-Identifier: Apache-2.0
// The other end of a data plane's UpdateSocket (control/agent/update_socket.h).
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/deadline.h"
#include "control/server/packet_socket.h"

namespace bfly::control {

// Thread-safe; updates go one after the other.
class UpdateClient {
 public:
  // Updates that fit into a message take microseconds. By this time the controller has usually
  // found out whether a data plane that does not answer is gone (--look-time, --late-looks).
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // `agent_address` may be of any kind. There is no such socket on another machine.
  explicit UpdateClient(const std::string& agent_address,
                        std::chrono::milliseconds patience = kPatience);

  // Returns nothing if the update was not sent, because it is too long for a message or because
  // nobody listens there; the caller then sends it another way. Errors are those of AgentClient.
  std::optional<absl::StatusOr<v1::AgentUpdateResponse>> Update(
      const v1::AgentUpdateRequest& request, Deadline deadline = kNoDeadline);

 private:
  // Both need mutex_. Send returns false if nothing was sent.
  bool Send();
  absl::StatusOr<v1::AgentUpdateResponse> Receive(Deadline deadline);

  const std::string path_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;  // guards what follows
  std::optional<PacketSocket> socket_;
  std::string message_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace bfly::control
