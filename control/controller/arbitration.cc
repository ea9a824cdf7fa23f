// SPDX-License-Identifier: Apache-2.0
#include "control/controller/arbitration.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {

absl::Status Arbitration::Ask(const void* client, uint64_t election_id, Listener listener) {
  const std::lock_guard lock(mutex_);
  if (election_id == 0) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "election_id",
                        "0 stands for calls without the primary role; ask for it with 1 or more");
  }
  if (election_id > kMaxElectionId) {
    return OutOfRange("election_id", election_id, 1, kMaxElectionId);
  }
  const auto holder = clients_.find(election_id);
  if (holder != clients_.end() && holder->second.identity != client) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "election_id",
                        absl::StrCat(election_id, " is held by another client; use another id"));
  }
  const uint64_t before = PrimaryLocked();
  Remove(client);
  if (clients_.size() >= kMaxClients) {
    return absl::ResourceExhaustedError(
        absl::StrCat(kMaxClients, " clients ask for the primary role already"));
  }
  clients_[election_id] = {client, std::move(listener)};
  const uint64_t now = PrimaryLocked();
  if (now != before) {
    TellAll(before);
  } else {
    clients_[election_id].listener(now == election_id, now);
  }
  return absl::OkStatus();
}

void Arbitration::Leave(const void* client) {
  const std::lock_guard lock(mutex_);
  const uint64_t before = PrimaryLocked();
  Remove(client);
  if (PrimaryLocked() != before) TellAll(before);
}

absl::Status Arbitration::Check(uint64_t election_id) const {
  const std::lock_guard lock(mutex_);
  const uint64_t now = PrimaryLocked();
  if (election_id == now) return absl::OkStatus();
  if (operator_id_ != 0 && election_id == operator_id_) return absl::OkStatus();
  return ErrorAtField(absl::StatusCode::kPermissionDenied, "election_id",
                      now == 0
                          ? absl::StrCat(election_id,
                                         " is not primary: nobody is; keep an Arbitrate stream "
                                         "open, or use 0")
                          : absl::StrCat(election_id, " is not the primary's, which is ", now));
}

uint64_t Arbitration::primary() const {
  const std::lock_guard lock(mutex_);
  return PrimaryLocked();
}

size_t Arbitration::clients() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

void Arbitration::TellAll(uint64_t before) {
  const uint64_t now = PrimaryLocked();
  if (on_change_) on_change_(now, before);
  for (const auto& [id, client] : clients_) client.listener(id == now, now);
}

void Arbitration::Remove(const void* client) {
  for (auto it = clients_.begin(); it != clients_.end(); ++it) {
    if (it->second.identity != client) continue;
    clients_.erase(it);
    return;
  }
}

}  // namespace bfly::control
