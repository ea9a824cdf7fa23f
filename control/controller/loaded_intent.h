// SPDX-License-Identifier: Apache-2.0
// The intent of the loaded fabric, if one is loaded, and the listeners to its changes.
//
// One thread at a time changes the intent: the one that holds the change lock, which it also holds
// while it asks data planes. Readers never wait for that. They see what is committed, and nothing
// that may be taken back. A reader must not read again from within: it would wait for a writer that
// waits for this reader.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/arbitration.h"
#include "control/controller/gated_lock.h"
#include "control/controller/intent.h"
#include "control/controller/timed_lock.h"

namespace bfly::control {

// Called with locks of the controller held: a listener must not call back, nor block.
class CircuitListener {
 public:
  virtual ~CircuitListener() = default;
  // Another fabric is loaded, with these circuits on it. The first call tells the fabric that is
  // loaded already; null: no fabric is loaded.
  virtual void OnFabric(std::shared_ptr<const Network> network,
                        const std::vector<StandingCircuit>& standing) = 0;
  virtual void OnChange(const CircuitChange& change) = 0;
};

// Thread-safe.
class CircuitFeed {
 public:
  void Add(CircuitListener* listener) {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(listener);
  }
  void Remove(CircuitListener* listener) {
    const std::lock_guard lock(mutex_);
    listeners_.erase(std::remove(listeners_.begin(), listeners_.end(), listener), listeners_.end());
  }
  // Says that another fabric was loaded. No circuit stands on it yet.
  void TellFabric(const std::shared_ptr<const Network>& network) {
    const std::lock_guard lock(mutex_);
    for (CircuitListener* listener : listeners_) listener->OnFabric(network, {});
  }
  void Tell(const CircuitChange& change) {
    const std::lock_guard lock(mutex_);
    if (change.empty()) return;
    for (CircuitListener* listener : listeners_) listener->OnChange(change);
  }

 private:
  std::mutex mutex_;
  std::vector<CircuitListener*> listeners_;  // mutex_
};

class LoadedIntent {
 public:
  // `arbitration` says who may change the intent.
  explicit LoadedIntent(const Arbitration& arbitration) : arbitration_(arbitration) {}

  // Any thread may call what follows.

  // FAILED_PRECONDITION: no fabric is loaded, and `reader` is not called.
  absl::Status Read(const std::function<void(const Intent&)>& reader) const;
  // Does the same without asking the writer to withdraw anything: returns false, and does not call
  // `reader`, while something is executed that is not committed.
  bool TryRead(const std::function<void(const Intent&)>& reader) const;
  // Tells the listener which circuits stand now, and every change from then on, until Unwatch.
  // `check` may refuse the network; FAILED_PRECONDITION: no fabric is loaded. After an error the
  // listener gets nothing.
  absl::Status Watch(CircuitListener* listener,
                     const std::function<absl::Status(const Network&)>& check);
  void Unwatch(CircuitListener* listener) { feed_.Remove(listener); }
  // Tells the listener every change from now on, whether a fabric is loaded or not, until Unwatch.
  // Nothing may be loaded yet.
  void WatchFromStart(CircuitListener* listener) { feed_.Add(listener); }
  // How often the intent was changed so far.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // The data planes of the loaded fabric, then those of earlier fabrics that are watched.
  DataPlanes planes() const;
  // Whether every data plane of the loaded fabric is usable; true if none is loaded.
  bool all_usable() const;

  // The network of the loaded fabric; null: none is loaded.
  std::shared_ptr<const Network> network() const {
    const std::shared_lock lock(state_);
    return intent_ == nullptr ? nullptr : intent_->state.shared_network();
  }
  // Whether the data plane is one of the loaded fabric.
  bool HasNow(const DataPlane& plane) const {
    const std::shared_lock lock(state_);
    return Has(plane);
  }

  TimedLock& change_lock() { return change_; }
  // Takes the change lock. DEADLINE_EXCEEDED: other changes held it until then. PERMISSION_DENIED:
  // a call with this election id may not change the fabric.
  absl::StatusOr<std::unique_lock<TimedLock>> BeginChange(uint64_t election_id, Deadline deadline);

  // PERMISSION_DENIED: a call with this election id may not change the fabric.
  absl::Status CheckPermitted(uint64_t election_id) const {
    return arbitration_.Check(election_id);
  }

  // What follows needs the change lock.

  bool is_loaded() const { return intent_ != nullptr; }
  // A fabric must be loaded for this call and the calls below.
  const Intent& now() const { return *intent_; }
  // FAILED_PRECONDITION: no fabric is loaded.
  absl::Status CheckLoaded() const;
  // UNAVAILABLE names the first data plane of the loaded fabric that cannot be used.
  absl::Status CheckUsable() const;
  // Whether the data plane is one of the loaded fabric.
  bool Has(const DataPlane& plane) const;
  // The last id that a circuit of any fabric was given.
  uint64_t last_circuit_id() const;
  // Controllers before this one gave circuits the ids up to this one. Neither the loaded fabric,
  // if there is one, nor the next one gives any of them again.
  void SkipCircuitIds(uint64_t last_id) {
    last_id_of_fabrics_before_ = std::max(last_id_of_fabrics_before_, last_id);
    if (is_loaded()) Change([&](Intent& intent) { intent.state.SkipIds(last_id); });
  }

  // No reader sees the intent while `edit` works on it.
  template <class Edit>
  void Change(Edit&& edit) {
    const std::unique_lock lock(state_);
    edit(*intent_);
    changes_.fetch_add(1, std::memory_order_release);
  }
  // Does the same, and tells listeners of the circuits that `edit` returns.
  template <class Edit>
  void ChangeAndTell(Edit&& edit) {
    const std::unique_lock lock(state_);
    feed_.Tell(edit(*intent_));
    changes_.fetch_add(1, std::memory_order_release);
  }
  // With null no fabric is loaded any more. The data planes of the fabric before are watched for as
  // long as they may hold something.
  void Replace(std::unique_ptr<Intent> intent);
  // Watches a data plane that is not part of the loaded fabric.
  void WatchToo(const std::shared_ptr<DataPlane>& plane);

 private:
  // Calls `reader` with state_ held. The first reader after something was executed that is not
  // committed yet holds it exclusively and withdraws that first; all others share it.
  void ReadCommitted(const std::function<void()>& reader) const;

  const Arbitration& arbitration_;
  TimedLock change_;
  mutable GatedLock state_;                 // guards intent_ and past_
  std::unique_ptr<Intent> intent_;          // null: nothing is loaded
  DataPlanes past_;                         // of earlier fabrics, not part of this one
  uint64_t last_id_of_fabrics_before_ = 0;  // change_
  CircuitFeed feed_;
  std::atomic<uint64_t> changes_ = 0;  // written with state_ held
};

}  // namespace bfly::control
