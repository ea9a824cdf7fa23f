// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace bfly::control {

// Makes a call again and again in a thread of its own, until the object is destroyed.
class RepeatedCall {
 public:
  // The first call comes at once, and `pause` lies between two calls.
  RepeatedCall(std::function<void()> call, std::chrono::milliseconds pause);
  // Waits for the call that is under way.
  ~RepeatedCall();

 private:
  void Repeat();

  const std::function<void()> call_;
  const std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // mutex_
  std::thread thread_;
};

}  // namespace bfly::control
