// SPDX-License-Identifier: Apache-2.0
// Where the processes of one fabric find each other: Unix sockets in a run directory, TCP only by a
// flag that says what it opens.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

inline constexpr char kDefaultRunDirectory[] = "/run/bfly";

// What the user gave, else $BFLY_RUN_DIR, else kDefaultRunDirectory.
std::string RunDirectory(absl::string_view given);

// "unix:/run/bfly/dp0.sock": the agent of a data plane, or "controller".
std::string SocketAddress(absl::string_view run_directory, absl::string_view name);

// The address of a Unix socket to listen at, "unix:PATH" with at most 107 characters of path.
// InvalidArgument for everything else; for TCP the error names the flag that opens it.
absl::StatusOr<std::string> ListenAddress(absl::string_view given);

// An address to listen at by TCP, where nothing is encrypted and nobody is asked who calls: every
// user of this machine may call even where no other machine can.
//   PORT, :PORT     on 127.0.0.1
//   ADDRESS:PORT    the address in numbers, 127.0.0.1 or [::1]; a name is refused, because what it
//                   stands for is decided elsewhere. Other machines' only with allow_remote.
absl::StatusOr<std::string> InsecureTcpAddress(absl::string_view given, bool allow_remote);

// All that a server listens at, from the values of its flags.
absl::StatusOr<std::vector<std::string>> ServerAddresses(
    const std::vector<std::string>& listen, const std::vector<std::string>& insecure_tcp,
    bool allow_remote);

// What both daemons say of the flags that open TCP.
inline constexpr char kInsecureTcpHelp[] =
    "Serve at this TCP port too, PORT (of 127.0.0.1) or ADDRESS:PORT in numbers, without "
    "encryption "
    "and without asking who calls: every user of this machine may change the fabric. May be given "
    "more than once";
inline constexpr char kAllowRemoteHelp[] =
    "Allow --insecure-tcp at an address other machines can reach";

// OK if a process of ours may keep its files in this directory, or it does not exist yet.
// PERMISSION_DENIED: somebody else could put links there, and have us write through them.
absl::Status CheckRunDirectory(const std::string& directory);

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
