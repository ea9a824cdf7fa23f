// SPDX-License-Identifier: Apache-2.0
// Orders that the data plane carries out by itself: whether it can be asked to, and what the state
// of the fabric learns from its answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/fabric_state.h"
#include "control/intent/in_band_order.h"
#include "control/intent/in_band_outcome.h"

namespace bfly::control {

absl::Status CheckInBand(const FabricState& state, const InBandOrder& order);
// The inputs whose circuits are released first.
std::vector<Row> ReleasedBy(const FabricState& state, const InBandOrder& order);

// The link that is down, or has no room for the path of request `request`.
struct InBandRefusal {
  uint32_t request = 0;
  LinkId link;
  bool down = false;
  uint32_t circuits = 0;
  uint32_t capacity = 0;
};
// Returns what executing the order would have answered. If there was no room, the request counts as
// blocked.
absl::Status LearnRefusal(FabricState& state, const InBandOrder& order,
                          const InBandRefusal& refusal);
// Learns what the data plane did. `route` has the paths; Learn fills in buddies and congestion.
// After an error the caller must roll the state back.
absl::Status Learn(FabricState& state, const InBandOrder& order, RouteResult& route,
                   std::vector<StandingCircuit>* circuits);

// Returns what the same order was answered under this key; null if the key is new or there is no
// key.
absl::StatusOr<std::shared_ptr<const InBandOutcome>> FindInBand(const FabricState& state,
                                                                const InBandOrder& order,
                                                                const std::string& key);
void RememberInBand(FabricState& state, const InBandOrder& order, const std::string& key,
                    const InBandOutcome& outcome);

}  // namespace bfly::control
