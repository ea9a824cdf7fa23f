// SPDX-License-Identifier: Apache-2.0
// Who is told of every change to the circuits, in the order they are committed.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "control/intent/fabric_state.h"

namespace bfly::control {

// Called with locks of the controller held: it must not call back, nor block.
class CircuitListener {
 public:
  virtual ~CircuitListener() = default;
  // Another fabric, and at first the one there is, with what stands on it; null: none.
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
  // Nothing stands on a fabric that was just loaded.
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

}  // namespace bfly::control
