// SPDX-License-Identifier: Apache-2.0
// Encrypted TCP: the files of a daemon or a client, and the credentials made of them.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/access/gate.h"
#include "control/access/tls_flags.h"

namespace bfly::control {

inline constexpr char kTlsCertHelp[] = "Certificate to show the other side, a PEM file";
inline constexpr char kTlsKeyHelp[] =
    "Key of the certificate, a PEM file that no other user may read";
inline constexpr char kTlsCaHelp[] =
    "Certificates (PEM) of the authority that signed the other side's certificate";

// Checks the files of a daemon, also of one that shows its certificate to data planes alone. Fails
// as TlsServer does if a file does not fit or others can read the key, who are all users but root
// and the daemon's own.
absl::Status CheckDaemonFiles(const TlsFlags& flags);

// Credentials of a server. Clients must show a certificate that the CA signed, unless the gate's
// rules admit anyone. A client whose role is below `least` is refused before its call is looked at.
// The gate must outlive the server. INVALID_ARGUMENT: certificate or key is missing, or the server
// could identify nobody, or not those whose certificates the rules name; the key is not that of the
// certificate, or the certificate has expired. PERMISSION_DENIED: a file cannot be read, or others
// can read the key. Files that are replaced later are taken up within seconds, for new connections.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> TlsServer(const TlsFlags& flags,
                                                                   const Gate& gate, Role least);

// Credentials of a client, which accepts servers whose certificate the CA signed for the address
// that it calls. Without a certificate of its own the client stays unknown to the server. `flags`
// name a CA or a certificate. The errors, and what becomes of replaced files, are those of
// TlsServer.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> TlsClient(const TlsFlags& flags);

// Credentials for `address`: none for a Unix socket, where the kernel says who calls, and TLS for
// TCP. INVALID_ARGUMENT: TCP without a CA.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(const std::string& address,
                                                                         const TlsFlags& flags);

}  // namespace bfly::control
