// SPDX-License-Identifier: Apache-2.0
// Where the processes of one fabric find each other: Unix sockets in a run directory, TCP if asked
// for.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

inline constexpr char kDefaultRunDirectory[] = "/run/bfly";

// What the user gave, else $BFLY_RUN_DIR, else kDefaultRunDirectory.
std::string RunDirectory(absl::string_view given);

// "unix:/run/bfly/dp0.sock": the agent of a data plane, or "controller".
std::string SocketAddress(absl::string_view run_directory, absl::string_view name);

// An address to listen at, as gRPC wants it.
//   unix:PATH      at most 107 characters
//   PORT, :PORT    on 127.0.0.1
//   HOST:PORT      refused for a host that is not loopback unless allow_remote: there is neither
//                  encryption nor a check of who calls
absl::StatusOr<std::string> ListenAddress(absl::string_view given, bool allow_remote);

// The path in "unix:PATH", or "".
std::string SocketPath(absl::string_view address);

// Where the data plane whose agent has this address takes updates of circuits from processes of its
// machine: "/run/bfly/dp0.updates" beside "unix:/run/bfly/dp0.sock". Empty for an agent at another
// kind of address, or if the path would be too long for a socket.
std::string UpdateSocketPath(absl::string_view agent_address);

// Makes the directory of a Unix socket and removes a socket nobody answers on. AlreadyExists if
// somebody does, and still does after a second: it may have been killed a moment ago. Does nothing
// for TCP.
absl::Status PrepareSocket(absl::string_view address);

}  // namespace bfly::control
