// SPDX-License-Identifier: Apache-2.0
// Changes to circuits that the store is yet to hear of.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "bfly/v1/agent.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/store/store.h"

namespace bfly::control {

// Thread-safe.
class UnwrittenCircuits final : public CircuitListener {
 public:
  struct Circuit {
    uint64_t tag = 0;
    uint64_t id = 0;
    std::optional<uint64_t> object = {};
    bool stands = false;
  };
  struct Batch {
    bool forget = false;  // the circuits in the store are of another fabric, or nobody knows
    std::unordered_map<Row, Circuit> circuits;
  };

  // Returns all changes since the last call.
  Batch Take();
  // The store could not write what Take returned.
  void PutBack(Batch unwritten);

  void OnFabric(std::shared_ptr<const Network> network,
                const std::vector<StandingCircuit>& standing) override;
  void OnChange(const CircuitChange& change) override;

 private:
  std::mutex mutex_;
  Batch pending_;  // mutex_
};

// The change after which the store has `state` and these circuits.
KeptChange ChangeTo(const v1::AgentState& state, const UnwrittenCircuits::Batch& batch);

}  // namespace bfly::control
