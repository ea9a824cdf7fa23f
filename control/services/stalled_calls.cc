// SPDX-License-Identifier: Apache-2.0
#include "control/services/stalled_calls.h"

#include <chrono>
#include <utility>
#include <vector>

namespace bfly::control {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How much a client may leave unread before it counts as stalled, and how often that is looked at.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kLook{1};

int64_t Now() { return SteadyClock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

}  // namespace

StalledCalls::Call::Call(StalledCalls& calls, grpc::CallbackServerContext* context,
                         const Resource* places, Resource::Share share)
    : calls_(calls), context_(context), places_(places), share_(share) {
  const std::lock_guard lock(calls_.mutex_);
  calls_.calls_.insert(this);
}

StalledCalls::Call::~Call() {
  const std::lock_guard lock(calls_.mutex_);
  calls_.calls_.erase(this);
}

void StalledCalls::Call::SetSending(bool sending) {
  since_ns_.store(sending ? Now() : 0, std::memory_order_relaxed);
}

void StalledCalls::Call::EndAfter(std::chrono::nanoseconds time) {
  end_ns_.store(Now() + time.count(), std::memory_order_relaxed);
}

bool StalledCalls::Call::MakesRoom(int64_t now) const {
  return end_ns_.load(std::memory_order_relaxed) <= now ||
         places_->in_use() >= places_->limit(share_);
}

StalledCalls::StalledCalls(std::function<bool()> is_short)
    : is_short_(std::move(is_short)), looks_([this] { Look(); }, kLook) {}

void StalledCalls::Look() {
  const std::lock_guard lock(mutex_);
  const bool is_short = is_short_();
  const int64_t now = Now();
  const int64_t before = now - kPatience / std::chrono::nanoseconds(1);
  for (Call* call : std::vector<Call*>(calls_.begin(), calls_.end())) {
    // The call that was cancelled may have ended other calls of its connection.
    if (calls_.count(call) == 0) continue;
    const int64_t since = call->since_ns_.load(std::memory_order_relaxed);
    if (since == 0 || since >= before) continue;
    if (is_short || call->MakesRoom(now)) call->context_->TryCancel();
  }
}

}  // namespace bfly::control
