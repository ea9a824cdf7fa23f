// SPDX-License-Identifier: Apache-2.0
// Makes the passes of a worker slow, so that a test can do something in the middle of a run.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "dataplane/core/inlet.h"

namespace bfly::dataplane {

// Makes every pass of its worker slow while the test says so, or keeps the worker in one.
class SlowInlet final : public Inlet {
 public:
  struct Speed {
    std::atomic<bool> slow{false};
    std::atomic<bool> stall{false};
  };
  explicit SlowInlet(Speed& speed) : speed_(speed) {}
  int Receive(Descriptor*, int, Ledger&) override {
    if (speed_.slow.load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    while (speed_.stall.load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return 0;
  }

 private:
  Speed& speed_;
};

}  // namespace bfly::dataplane
