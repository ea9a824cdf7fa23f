// SPDX-License-Identifier: Apache-2.0
// What FabricState keeps by idempotency key.
#include <utility>

#include "control/services/fabric_state.h"

namespace bfly::control {

size_t FabricState::BytesOf(const Answer& answer) {
  const auto of_route = [](const RouteResult& route) {
    return sizeof(route) + route.paths.size() * sizeof(CircuitPath) +
           route.buddies.size() * sizeof(route.buddies[0]);
  };
  if (const auto* outcomes = std::get_if<std::vector<Outcome>>(&answer)) {
    return outcomes->size() * sizeof(Outcome);
  }
  if (const auto* route = std::get_if<RouteResult>(&answer)) return of_route(*route);
  if (const auto* read = std::get_if<DataServerResult>(&answer)) return of_route(read->route);
  return sizeof(StandingCircuit);
}

void FabricState::Remember(const std::string& key, const std::string& request, Answer answer) {
  const size_t bytes = BytesOf(answer);
  keys_.Put(key, request, std::move(answer), bytes);
  log_.push_back({Step::Kind::kKey, {}, nullptr});
}

}  // namespace bfly::control
