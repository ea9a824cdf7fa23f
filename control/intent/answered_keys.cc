// SPDX-License-Identifier: Apache-2.0
#include "control/intent/answered_keys.h"

#include <utility>

#include "control/intent/in_band_outcome.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxKeys = 1 << 16;
// The bytes that the requests and the answers of all keys may take together.
constexpr size_t kMaxKeyMemory = 64 << 20;

size_t BytesOf(const AnsweredKeys::Answer& answer) {
  const auto of_route = [](const RouteResult& route) {
    return sizeof(route) + route.paths.size() * sizeof(CircuitPath) +
           route.buddies.size() * sizeof(route.buddies[0]) + route.candidates.size() * sizeof(Tag);
  };
  if (const auto* outcomes = std::get_if<std::vector<Outcome>>(&answer)) {
    return outcomes->size() * sizeof(Outcome);
  }
  if (const auto* route = std::get_if<RouteResult>(&answer)) return of_route(*route);
  if (const auto* read = std::get_if<DataServerResult>(&answer)) return of_route(read->route);
  if (const auto* in_band = std::get_if<std::shared_ptr<const InBandOutcome>>(&answer)) {
    return sizeof(InBandOutcome) + of_route((*in_band)->route) +
           (*in_band)->circuits.size() * sizeof(StandingCircuit);
  }
  return sizeof(StandingCircuit);
}

}  // namespace

AnsweredKeys::AnsweredKeys() : committed_(kMaxKeys, kMaxKeyMemory) {}

absl::StatusOr<std::shared_ptr<const AnsweredKeys::Answer>> AnsweredKeys::Find(
    const std::string& key, const std::string& request) const {
  const auto pending = pending_.find(key);
  if (pending == pending_.end()) return committed_.Find(key, request);
  if (pending->second.request != request) return UsedForAnotherRequest();
  return pending->second.answer;
}

void AnsweredKeys::Put(const std::string& key, std::string request, Answer answer) {
  pending_[key] = {std::move(request), std::make_shared<const Answer>(std::move(answer))};
  order_.push_back(key);
}

void AnsweredKeys::RemoveNewest() {
  pending_.erase(order_.back());
  order_.pop_back();
}

void AnsweredKeys::Commit() {
  for (const std::string& key : order_) {
    Pending& pending = pending_.at(key);
    const size_t bytes = BytesOf(*pending.answer);
    committed_.Put(key, pending.request, std::move(pending.answer), bytes);
  }
  RollBack();
}

void AnsweredKeys::RollBack() {
  pending_.clear();
  order_.clear();
}

}  // namespace bfly::control
