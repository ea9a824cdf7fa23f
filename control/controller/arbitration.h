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
#include <utility>

#include "absl/status/status.h"

namespace bfly::control {

// Thread-safe.
class Arbitration {
 public:
  // How many clients may ask at the same time.
  static constexpr size_t kMaxClients = 64;

  // Called whenever the primary changes or the client asked again. It learns whether the client is
  // the primary, and the primary's id. It is called with a lock held: it must not call back, nor
  // block.
  using Listener = std::function<void(bool primary, uint64_t primary_id)>;

  // Clients may ask for ids up to this one. Larger ids are for operators, who have no role.
  static constexpr uint64_t kMaxElectionId = uint64_t{1} << 63;
  // With `operator_id` a call may change the fabric whoever is primary; 0: there is no such id.
  // `on_change` gets every change of the primary, as a listener does; 0: nobody is the primary.
  using OnChange = std::function<void(uint64_t primary_id, uint64_t before)>;
  explicit Arbitration(uint64_t operator_id = 0, OnChange on_change = {})
      : operator_id_(operator_id), on_change_(std::move(on_change)) {}

  // INVALID_ARGUMENT: id 0, an id above kMaxElectionId, or one another client holds.
  // RESOURCE_EXHAUSTED: kMaxClients have asked. A client that asks again changes its id.
  absl::Status Ask(const void* client, uint64_t election_id, Listener listener);
  void Leave(const void* client);

  // PERMISSION_DENIED unless a call with this id may change the fabric.
  absl::Status Check(uint64_t election_id) const;
  size_t clients() const;
  // Returns 0 if nobody is the primary.
  uint64_t primary() const;

 private:
  uint64_t PrimaryLocked() const { return clients_.empty() ? 0 : clients_.rbegin()->first; }
  void TellAll(uint64_t before);
  void Remove(const void* client);

  const uint64_t operator_id_;
  const OnChange on_change_;
  mutable std::mutex mutex_;
  struct Client {
    const void* identity;
    Listener listener;
  };
  std::map<uint64_t, Client> clients_;  // by election id
};

}  // namespace bfly::control
