// SPDX-License-Identifier: Apache-2.0
#include "control/access/gate.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace bfly::control {
namespace {

// Low numbers are left to files.
constexpr int kFirstNumber = 128;

std::string UserName(uid_t id) {
  char text[1024];
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(id, &entry, text, sizeof(text), &found) == 0 && found != nullptr)
    return found->pw_name;
  return absl::StrCat(id);
}

}  // namespace

int Gate::Renumber(int fd) {
  int number = fcntl(fd, F_DUPFD_CLOEXEC, std::max(next_, kFirstNumber));
  if (number < 0) number = fcntl(fd, F_DUPFD_CLOEXEC, kFirstNumber);
  if (number < 0) return fd;  // no descriptor is free
  next_ = number + 1;
  close(fd);
  return number;
}

absl::StatusOr<int> Gate::Admit(int fd, const SocketFile& file) {
  const auto refuse = [&](absl::string_view why,
                          absl::StatusCode code = absl::StatusCode::kPermissionDenied) {
    close(fd);
    return absl::Status(code, absl::StrCat(file.path(), ": ", why));
  };
  const absl::StatusOr<Peer> peer = PeerOf(fd);
  if (!peer.ok()) return refuse(peer.status().message());
  Caller caller{
      .role = rules_.OfPeer(*peer, file.info()),
      .name = absl::StrCat("process ", peer->pid, " of user ", UserName(peer->uid)),
      .who = absl::StrCat("user ", peer->uid),
  };
  if (caller.role == Role::kNone) return refuse(absl::StrCat(caller.name, " has no role"));
  if (caller.role > Role::kViewer) return AdmitAs(std::move(caller), fd);
  const std::string who = caller.who;
  if (const absl::Status room = viewers_.CheckRoom(who); !room.ok())
    return refuse(room.message(), room.code());
  const int number = AdmitAs(std::move(caller), fd);
  viewers_.Add(number, who);
  return number;
}

int Gate::AdmitAs(Caller caller, int fd) {
  const std::lock_guard lock(mutex_);
  const int number = Renumber(fd);
  by_number_[number] = std::move(caller);
  return number;
}

Caller Gate::Of(const grpc::ServerContextBase& context) const {
  const std::string peer = context.peer();
  absl::string_view number_text = peer;
  int number = 0;
  if (absl::ConsumePrefix(&number_text, "fd:") && absl::SimpleAtoi(number_text, &number)) {
    const std::lock_guard lock(mutex_);
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? Caller{Role::kNone, peer} : found->second;
  }
  std::string certificate;
  if (const auto identity = context.auth_context();
      identity != nullptr && identity->IsPeerAuthenticated()) {
    const auto names = identity->FindPropertyValues("x509_common_name");
    if (!names.empty()) certificate.assign(names[0].data(), names[0].size());
  }
  return OfCertificate(certificate, peer);
}

Caller Gate::OfCertificate(absl::string_view certificate, absl::string_view peer) const {
  return {.role = rules_.OfCertificate(certificate),
          .name = certificate.empty() ? absl::StrCat("somebody at ", peer)
                                      : absl::StrCat("certificate ", certificate),
          .who = certificate.empty() ? "anyone" : absl::StrCat("certificate ", certificate)};
}

Role Gate::RoleOf(const std::string& method) const {
  const auto found = needs_.find(method);
  return found == needs_.end() ? Role::kViewer : found->second;
}

absl::Status Gate::Check(const grpc::ServerContextBase& context, const std::string& method) const {
  const Role needed = RoleOf(method);
  const Caller caller = Of(context);
  if (caller.role <= Role::kViewer &&
      !viewer_calls_.Take(caller.who, std::chrono::steady_clock::now())) {
    return absl::ResourceExhaustedError(
        absl::StrCat(caller.name, " begins more than ", viewer_calls_.per_second(),
                     " calls a second, which is what a viewer may; wait, or give bfly-controller "
                     "another --viewer-calls"));
  }
  if (caller.role >= needed) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(caller.name, " has the role ", NameOf(caller.role), ", and ", method, " needs ",
                   NameOf(needed), "; bfly-controller gives roles with --", NameOf(needed)));
}

}  // namespace bfly::control
