// SPDX-License-Identifier: Apache-2.0
// The flags of both daemons that say where they serve, whom, and what callers may do.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/access/access_rules.h"
#include "control/access/gate.h"
#include "control/access/tls.h"
#include "control/server/grpc_server.h"
#include "control/server/privileges.h"

namespace bfly::control {

struct DoorFlags {
  std::vector<std::string> listen;
  std::vector<std::string> tls_listen;
  TlsFlags tls;
  RoleFlags roles;
  bool no_reflection = false;
  double viewer_calls = Gate::kViewerCalls;
};

// Declares the flags. `least` is the role that a caller needs at least: kViewer at a controller,
// kPrimary at a data plane, which then has no flags for the lesser roles.
void DeclareDoors(CLI::App& app, DoorFlags& flags, Role least);

// The files that the flags name: keys, certificates (also of authorities), and sockets to listen
// at.
std::vector<NeededFile> FilesOf(const DoorFlags& flags);

// Where a daemon serves, and whom.
struct Doors {
  std::unique_ptr<Gate> gate;
  std::vector<std::string> sockets;
  std::vector<std::string> tcp_addresses;
  std::shared_ptr<grpc::ServerCredentials> tls;  // if there are TCP addresses
  bool reflection = true;

  std::vector<std::string> addresses() const;  // all of them
  void Fill(GrpcServer::Options& options) const;
};

// Checks the flags and reads the files that they name. Nothing listens yet. `socket` is served if
// the flags name no other one.
absl::StatusOr<Doors> DoorsOf(const DoorFlags& flags, const std::string& socket, Role least);

}  // namespace bfly::control
