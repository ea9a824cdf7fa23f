// SPDX-License-Identifier: Apache-2.0
// Which caller has which role, as the flags of a daemon say it. A caller whom several rules name
// has the highest of their roles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/access/peer.h"
#include "control/access/role.h"

namespace bfly::control {

// The callers of each role, as they were typed: "user:NAME", "group:NAME" (or numbers),
// "certificate:NAME", and for viewers "anyone".
struct RoleFlags {
  std::vector<std::string> viewers;
  std::vector<std::string> operators;
  std::vector<std::string> primaries;
};

inline constexpr char kCallerHelp[] =
    "user:NAME, group:NAME or certificate:NAME (the common name of a client's certificate); may be "
    "given more than once";

class AccessRules {
 public:
  // INVALID_ARGUMENT: a caller is none of these, or this machine knows no such user or group.
  static absl::StatusOr<AccessRules> From(const RoleFlags& flags);

  // The role of the process at the other end of a Unix socket. Who may use the socket's file (root,
  // its owner and its group) has every role.
  Role OfPeer(const Peer& peer, const struct stat& socket_file) const;
  // The role of a TLS client, by the common name of the certificate that the CA confirmed, or "" if
  // the client showed none.
  Role OfCertificate(absl::string_view name) const;

  // Whether users besides the owner and the group of a socket may connect to it.
  bool admits_other_users() const;
  // Whether a rule is about a certificate, and means nothing to a server that asks for none.
  bool names_certificates() const;
  // Whether TLS clients without a certificate may connect.
  bool admits_anyone() const { return anyone_ != Role::kNone; }

 private:
  struct Rule {
    enum class Kind { kUser, kGroup, kCertificate };
    Kind kind;
    uint32_t id = 0;   // of a user or a group
    std::string name;  // of a certificate
    Role role;
  };
  absl::Status Add(absl::string_view flag, absl::string_view caller, Role role);

  std::vector<Rule> rules_;
  Role anyone_ = Role::kNone;
};

}  // namespace bfly::control
