// SPDX-License-Identifier: Apache-2.0
#include "control/server/door_flags.h"

#include <CLI/Validators.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/server/address.h"
#include "control/server/number_option.h"

namespace bfly::control {

void DeclareDoors(CLI::App& app, DoorFlags& flags, Role least) {
  app.add_option("--listen", flags.listen,
                 "Unix socket to serve at, unix:PATH, for root, its owner and its group; may be "
                 "given more than once [a socket in the run directory]");
  app.add_option("--tls-listen", flags.tls_listen,
                 "Serve at this TCP port too, encrypted: PORT (of 127.0.0.1) or ADDRESS:PORT in "
                 "numbers; needs --tls-cert, --tls-key and --tls-ca. May be given more than once");
  app.add_option("--tls-cert", flags.tls.certificate, kTlsCertHelp)->type_name("FILE");
  app.add_option("--tls-key", flags.tls.key, kTlsKeyHelp)->type_name("FILE");
  app.add_option("--tls-ca", flags.tls.ca, kTlsCaHelp)->type_name("FILE");
  const std::string who = kCallerHelp;
  if (least <= Role::kViewer) {
    app.add_option("--viewer", flags.roles.viewers,
                   "Who may read: " + who +
                       ". \"anyone\" are all users of this machine, and TLS "
                       "clients without a certificate")
        ->type_name("CALLER");
    app.add_option("--viewer-calls", flags.viewer_calls,
                   "Calls that each viewer may begin in a second, 0: any number")
        ->capture_default_str()
        ->check(NumberFrom(0.0, 1e9));
    app.add_option("--operator", flags.roles.operators, "Who may also change the fabric: " + who)
        ->type_name("CALLER");
  }
  app.add_option("--primary", flags.roles.primaries,
                 least <= Role::kViewer ? "Who may also take the primary role: " + who
                                        : "Controllers that may use this data plane: " + who)
      ->type_name("CALLER");
  app.add_flag("--no-reflection", flags.no_reflection,
               "Do not tell clients which services and messages there are");
}

std::vector<std::string> Doors::addresses() const {
  std::vector<std::string> all = sockets;
  all.insert(all.end(), tcp_addresses.begin(), tcp_addresses.end());
  return all;
}

void Doors::Fill(GrpcServer::Options& options) const {
  options.sockets = sockets;
  options.tcp_addresses = tcp_addresses;
  options.tls = tls;
  options.gate = gate.get();
  options.reflection = reflection;
}

std::vector<NeededFile> FilesOf(const DoorFlags& flags) {
  std::vector<NeededFile> files;
  for (const std::string& file : {flags.tls.ca, flags.tls.certificate, flags.tls.key}) {
    if (!file.empty()) files.push_back({file, FileUse::kReads});
  }
  for (const std::string& address : flags.listen) {
    if (const std::string path = SocketPath(address); !path.empty()) {
      files.push_back({path, FileUse::kMakes});
    }
  }
  return files;
}

absl::StatusOr<Doors> DoorsOf(const DoorFlags& flags, const std::string& socket, Role least) {
  Doors doors;
  doors.reflection = !flags.no_reflection;
  absl::StatusOr<AccessRules> rules = AccessRules::From(flags.roles);
  if (!rules.ok()) return rules.status();
  doors.gate = std::make_unique<Gate>(*std::move(rules), flags.viewer_calls);
  for (const std::string& given :
       flags.listen.empty() ? std::vector<std::string>{socket} : flags.listen) {
    absl::StatusOr<std::string> address = ListenAddress(given);
    if (!address.ok()) return address.status();
    doors.sockets.push_back(*std::move(address));
  }
  for (const std::string& given : flags.tls_listen) {
    absl::StatusOr<std::string> address = TcpAddress(given);
    if (!address.ok())
      return absl::InvalidArgumentError(absl::StrCat("tls-listen: ", address.status().message()));
    doors.tcp_addresses.push_back(*std::move(address));
  }
  if (doors.tcp_addresses.empty() && doors.gate->rules().names_certificates())
    return absl::InvalidArgumentError(
        "tls-listen: a certificate has a role, and only TCP clients show one; give --tls-listen");
  if (!doors.tcp_addresses.empty()) {
    auto credentials = TlsServer(flags.tls, *doors.gate, least);
    if (!credentials.ok()) return credentials.status();
    doors.tls = *std::move(credentials);
  } else if (absl::Status status = CheckDaemonFiles(flags.tls); !status.ok()) {
    return status;
  }
  return doors;
}

}  // namespace bfly::control
