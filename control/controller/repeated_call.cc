// SPDX-License-Identifier: Apache-2.0
#include "control/controller/repeated_call.h"

#include <utility>

namespace bfly::control {

RepeatedCall::RepeatedCall(std::function<void()> call, std::chrono::milliseconds pause)
    : call_(std::move(call)), pause_(pause), thread_([this] { Repeat(); }) {}

RepeatedCall::~RepeatedCall() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RepeatedCall::Repeat() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    call_();
    lock.lock();
    changed_.wait_for(lock, pause_, [this] { return stopping_; });
  }
}

}  // namespace bfly::control
