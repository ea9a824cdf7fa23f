// SPDX-License-Identifier: Apache-2.0
// The addresses at which the processes of one fabric find each other: Unix sockets in a run
// directory, and TCP ports, which are encrypted.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

inline constexpr char kDefaultRunDirectory[] = "/run/bfly";

// The directory that the user gave, else $BFLY_RUN_DIR, else kDefaultRunDirectory.
std::string RunDirectory(absl::string_view given);

// Where the controller of this run directory keeps the intent: the directory that the user gave,
// else $BFLY_STATE_DIR, else /var/lib/bfly for kDefaultRunDirectory, which does not survive a
// reboot, else the run directory itself.
std::string StateDirectory(absl::string_view given, absl::string_view run_directory);

// "unix:/run/bfly/dp0.sock", the address of a data plane's agent or of "controller".
std::string SocketAddress(absl::string_view run_directory, absl::string_view name);

// Checks the address of a Unix socket to listen at: "unix:PATH" with at most 107 characters of
// path. InvalidArgument for everything else; for TCP the error names the flag that opens it.
absl::StatusOr<std::string> ListenAddress(absl::string_view given);

// Checks an address to listen at by TCP.
//   PORT, :PORT     on 127.0.0.1
//   ADDRESS:PORT    the address in numbers, 127.0.0.1 or [::1]. A name is refused, because name
//                   resolution decides what it stands for.
absl::StatusOr<std::string> TcpAddress(absl::string_view given);
// Whether only this machine can reach an address that TcpAddress returned.
bool IsLoopback(absl::string_view tcp_address);

// OK if this process may keep its files in the directory, or it does not exist yet.
// PERMISSION_DENIED: other users could put links there and make this process write through them.
// InvalidArgument: gRPC could not find the sockets in it, because of a '#', '?' or '%'.
absl::Status CheckRunDirectory(const std::string& directory);
// It says the same of a state directory. Other users could change the fabric that a resume loads.
absl::Status CheckStateDirectory(const std::string& directory);

// Returns the path in "unix:PATH", or "".
std::string SocketPath(absl::string_view address);

// Whether a process accepts connections at the Unix socket `path`.
bool SomebodyAnswers(const std::string& path);

// The socket at which a data plane takes updates of circuits from processes of its machine:
// "/run/bfly/dp0.updates" beside the agent's address "unix:/run/bfly/dp0.sock". Empty if the agent
// has another kind of address, or if the path would be too long for a socket.
std::string UpdateSocketPath(absl::string_view agent_address);

// Returns the addresses in the run directory that may be those of agents, sorted: "unix:PATH" of
// each socket NAME.sock but the controller's. Nobody may serve there any more. Sockets of virtual
// machines are not among them: an agent has one for updates beside the other.
std::vector<std::string> AgentAddresses(const std::string& run_directory);

// Creates the directory of a Unix socket and removes a socket on which no process answers.
// AlreadyExists: a process answers, and still does after a second (one that was just killed may
// answer for a moment). Does nothing for TCP.
absl::Status PrepareSocket(absl::string_view address);

}  // namespace bfly::control
