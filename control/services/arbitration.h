// SPDX-License-Identifier: Apache-2.0
// Who may change the fabric. Of all clients that asked for the primary role and are still connected
// the one with the highest election id has it; while nobody asks, everybody may change it with
// election id 0. (P4Runtime 1.3, section 5.3, but that the role goes to the next one waiting when
// the primary leaves.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "absl/status/status.h"

namespace bfly::control {

// Thread-safe.
class Arbitration {
 public:
  // Told whenever the primary changes or the client asked again: whether it is the primary, and the
  // primary's id. Called with a lock held: it must not call back, nor block.
  using Listener = std::function<void(bool primary, uint64_t primary_id)>;

  // INVALID_ARGUMENT: id 0, or an id another client holds. A client that asks again changes its id.
  absl::Status Ask(const void* client, uint64_t election_id, Listener listener);
  void Leave(const void* client);

  // PERMISSION_DENIED unless a call with this id may change the fabric.
  absl::Status Check(uint64_t election_id) const;
  // 0: nobody is.
  uint64_t primary() const;

 private:
  uint64_t PrimaryLocked() const { return clients_.empty() ? 0 : clients_.rbegin()->first; }
  void TellAll();
  void Remove(const void* client);

  mutable std::mutex mutex_;
  struct Client {
    const void* identity;
    Listener listener;
  };
  std::map<uint64_t, Client> clients_;  // by election id
};

}  // namespace bfly::control
