// SPDX-License-Identifier: Apache-2.0
// Makes the passes of a worker slow, so that a test can do something in the middle of a run.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "dataplane/core/inlet.h"

namespace bfly::dataplane {

// Makes every pass of its worker slow while the test says so, or keeps the worker in one.
class SlowInlet final : public Inlet {
 public:
  struct Speed {
    std::atomic<bool> slow{false};
    std::atomic<bool> stall{false};
    // Asked in every slow pass until it holds; from then on slow passes take kBrakedPass. The
    // worker itself asks, so it brakes at the same place however late the test looks. Set it before
    // `slow`.
    std::function<bool()> brakes;
  };
  explicit SlowInlet(Speed& speed) : speed_(speed) {}
  int Receive(Descriptor*, int, Ledger&) override {
    using namespace std::chrono_literals;
    if (speed_.slow.load() && !braked_ && speed_.brakes) braked_ = speed_.brakes();
    for (auto slept = 0us; speed_.slow.load() && slept < (braked_ ? kBrakedPass : kSlowPass);
         slept += kSlowPass) {
      std::this_thread::sleep_for(kSlowPass);
    }
    while (speed_.stall.load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return 0;
  }

 private:
  static constexpr std::chrono::microseconds kSlowPass{200}, kBrakedPass{50'000};

  Speed& speed_;
  bool braked_ = false;
};

}  // namespace bfly::dataplane
