// SPDX-License-Identifier: Apache-2.0
// Who calls a gRPC server, and what the caller may do. Every connection at a Unix socket is
// admitted here before gRPC gets it, and every call asks here before it is carried out.
#pragma once

#include <grpcpp/server_context.h>

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/access/access_rules.h"
#include "control/access/call_rate.h"
#include "control/access/peer.h"
#include "control/access/role.h"
#include "control/access/viewer_connections.h"

namespace bfly::control {

struct Caller {
  Role role = Role::kNone;
  std::string name;  // "process 71 of user lab", "certificate alice", "somebody at 10.0.0.2:51000"
  std::string who = {};  // the same for all connections: "user lab", "certificate alice", "anyone"
};

// Thread-safe, but for NeedsRole.
class Gate {
 public:
  // Every viewer may begin this many calls a second (0: any number). Who may change the fabric is
  // not limited.
  static constexpr double kViewerCalls = 1000;
  explicit Gate(AccessRules rules, double viewer_calls = kViewerCalls)
      : rules_(std::move(rules)), viewer_calls_(viewer_calls) {}

  const AccessRules& rules() const { return rules_; }

  // Takes a connection that was accepted at the Unix socket of this file. Returns the descriptor to
  // hand to gRPC, by which Of() knows the caller again; `fd` is used up. The connection is closed
  // with an error. PERMISSION_DENIED: the caller has no role. RESOURCE_EXHAUSTED: viewers hold as
  // many connections as they may; who may change the fabric is not limited.
  absl::StatusOr<int> Admit(int fd, const SocketFile& file);
  // The same for a connection that this process makes to its own server: its calls are those of
  // `caller`.
  int AdmitAs(Caller caller, int fd);

  // The caller of a call under way.
  Caller Of(const grpc::ServerContextBase& context) const;
  // The caller at the end of a TLS connection; `certificate` is "" if the caller showed none.
  Caller OfCertificate(absl::string_view certificate, absl::string_view peer) const;

  // Declares, before the server starts, that callers of `method` ("/bfly.v1.Fabric/Load") need a
  // role. Methods that are not declared need kViewer.
  void NeedsRole(const std::string& method, Role role) { needs_[method] = role; }
  Role RoleOf(const std::string& method) const;
  // PERMISSION_DENIED, saying who called, what is missing and who can give it.
  // RESOURCE_EXHAUSTED: a viewer begins too many calls a second.
  absl::Status Check(const grpc::ServerContextBase& context, const std::string& method) const;

 private:
  // Descriptors of connections are taken in turn from a range, so that a number does not come back
  // while a call of its last connection may still be on its way.
  int Renumber(int fd);

  const AccessRules rules_;
  mutable CallRate viewer_calls_;
  std::map<std::string, Role> needs_;
  mutable std::mutex mutex_;
  int next_ = 0;                               // mutex_
  std::unordered_map<int, Caller> by_number_;  // mutex_; at most one entry a descriptor
  ViewerConnections viewers_;
};

}  // namespace bfly::control
