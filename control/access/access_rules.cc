// SPDX-License-Identifier: Apache-2.0
#include "control/access/access_rules.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bfly::control {
namespace {

std::optional<uint32_t> UserId(const std::string& name) {
  uint32_t id = 0;
  if (absl::SimpleAtoi(name, &id)) return id;
  const passwd* user = getpwnam(name.c_str());
  return user == nullptr ? std::nullopt : std::optional<uint32_t>(user->pw_uid);
}

std::optional<uint32_t> GroupId(const std::string& name) {
  uint32_t id = 0;
  if (absl::SimpleAtoi(name, &id)) return id;
  const group* group = getgrnam(name.c_str());
  return group == nullptr ? std::nullopt : std::optional<uint32_t>(group->gr_gid);
}

}  // namespace

absl::StatusOr<AccessRules> AccessRules::From(const RoleFlags& flags) {
  AccessRules rules;
  const struct {
    absl::string_view flag;
    const std::vector<std::string>& callers;
    Role role;
  } kinds[] = {{"viewer", flags.viewers, Role::kViewer},
               {"operator", flags.operators, Role::kOperator},
               {"primary", flags.primaries, Role::kPrimary}};
  for (const auto& [flag, callers, role] : kinds) {
    for (const std::string& caller : callers) {
      if (absl::Status status = rules.Add(flag, caller, role); !status.ok()) return status;
    }
  }
  return rules;
}

absl::Status AccessRules::Add(absl::string_view flag, absl::string_view caller, Role role) {
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": \"", caller, "\" ", what));
  };
  if (caller == "anyone") {
    if (role != Role::kViewer)
      return wrong("may only view: name the users, groups or certificates that may do more");
    anyone_ = role;
    return absl::OkStatus();
  }
  absl::string_view name = caller;
  if (absl::ConsumePrefix(&name, "user:") && !name.empty()) {
    const std::optional<uint32_t> id = UserId(std::string(name));
    if (!id.has_value()) return wrong("is not a user of this machine; see `getent passwd`");
    rules_.push_back({.kind = Rule::Kind::kUser, .id = *id, .name = "", .role = role});
  } else if (absl::ConsumePrefix(&name, "group:") && !name.empty()) {
    const std::optional<uint32_t> id = GroupId(std::string(name));
    if (!id.has_value()) return wrong("is not a group of this machine; see `getent group`");
    rules_.push_back({.kind = Rule::Kind::kGroup, .id = *id, .name = "", .role = role});
  } else if (absl::ConsumePrefix(&name, "certificate:") && !name.empty()) {
    rules_.push_back(
        {.kind = Rule::Kind::kCertificate, .id = 0, .name = std::string(name), .role = role});
  } else {
    return wrong("is not a caller; use user:NAME, group:NAME or certificate:NAME");
  }
  return absl::OkStatus();
}

Role AccessRules::OfPeer(const Peer& peer, const struct stat& socket_file) const {
  if (MayUse(peer, socket_file)) return Role::kPrimary;
  Role highest = anyone_;
  for (const Rule& rule : rules_) {
    const bool named =
        (rule.kind == Rule::Kind::kUser && rule.id == peer.uid) ||
        (rule.kind == Rule::Kind::kGroup &&
         std::find(peer.groups.begin(), peer.groups.end(), rule.id) != peer.groups.end());
    if (named) highest = std::max(highest, rule.role);
  }
  return highest;
}

Role AccessRules::OfCertificate(absl::string_view name) const {
  Role highest = anyone_;
  for (const Rule& rule : rules_) {
    if (rule.kind == Rule::Kind::kCertificate && !name.empty() && rule.name == name)
      highest = std::max(highest, rule.role);
  }
  return highest;
}

bool AccessRules::names_certificates() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const Rule& rule) { return rule.kind == Rule::Kind::kCertificate; });
}

bool AccessRules::admits_other_users() const {
  return admits_anyone() || std::any_of(rules_.begin(), rules_.end(), [](const Rule& rule) {
           return rule.kind != Rule::Kind::kCertificate;
         });
}

}  // namespace bfly::control
