// SPDX-License-Identifier: Apache-2.0
#include "control/intent/answered_keys.h"

#include <utility>

#include "absl/strings/cord.h"
#include "control/intent/in_band_outcome.h"

namespace bfly::control {
namespace {

constexpr size_t kMaxKeys = 1 << 16;
// The bytes that the requests and the answers of all keys may take together.
constexpr size_t kMaxKeyMemory = 64 << 20;

// An error is an object on the heap with a text, and with details that have a name, a text and a
// node of their own.
constexpr size_t kErrorBytes = 256;

// The functions HeapOf return the bytes on the heap that belong to a value.
template <class T>
size_t HeapOf(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);
}

size_t HeapOf(const StandingCircuit& circuit) { return HeapOf(circuit.broken); }

size_t HeapOf(const Outcome& outcome) {
  if (outcome.ok()) return HeapOf(*outcome);
  size_t bytes = kErrorBytes + outcome.status().message().size();
  outcome.status().ForEachPayload(
      [&](absl::string_view, const absl::Cord& payload) { bytes += payload.size(); });
  return bytes;
}

size_t HeapOf(const RouteResult& route) {
  size_t bytes = HeapOf(route.stage_congestion) + HeapOf(route.stage_load) + HeapOf(route.paths) +
                 HeapOf(route.left_per_round) + HeapOf(route.requests_left) +
                 HeapOf(route.inputs_left) + HeapOf(route.rounds_asked) + HeapOf(route.buddies) +
                 HeapOf(route.candidates);
  for (const auto& load : route.stage_load) bytes += HeapOf(load);
  return bytes;
}

template <class T>
size_t HeapOfEach(const std::vector<T>& list) {
  size_t bytes = HeapOf(list);
  for (const T& one : list) bytes += HeapOf(one);
  return bytes;
}

struct HeapOfAnswer {
  size_t operator()(const StandingCircuit& circuit) const { return HeapOf(circuit); }
  size_t operator()(const std::vector<Outcome>& outcomes) const { return HeapOfEach(outcomes); }
  size_t operator()(const RouteResult& route) const { return HeapOf(route); }
  size_t operator()(const ReadBatchOutcome& batch) const {
    return HeapOf(batch.routed.route) + HeapOf(batch.circuits);
  }
  size_t operator()(const SingleReadsOutcome& reads) const { return HeapOfEach(reads.reads); }
  size_t operator()(const std::shared_ptr<const InBandOutcome>& in_band) const {
    return sizeof(InBandOutcome) + HeapOf(in_band->route) + HeapOfEach(in_band->circuits);
  }
};

size_t BytesOf(const AnsweredKeys::Answer& answer) {
  return sizeof(answer) + std::visit(HeapOfAnswer(), answer);
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
