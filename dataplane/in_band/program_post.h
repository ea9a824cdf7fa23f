// SPDX-License-Identifier: Apache-2.0
// How a control thread has the workers run a program, and waits for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "dataplane/in_band/in_band_worker.h"

namespace bfly::dataplane {

// One control thread at a time, but for Stop.
class ProgramPost {
 public:
  InBandOrders& orders() { return orders_; }
  // Other data planes run the stages behind the trunk `name`, which is behind stage `after_stage`.
  // Before anything runs.
  void SetTrunk(std::string name, int after_stage);

  // FailedPrecondition: the fabric is unloaded, or a worker hangs with a program begun earlier.
  absl::Status CheckReady() const;
  // Waits until the program has ended, keeping it until the next one. FailedPrecondition: stopped
  // meanwhile; DeadlineExceeded: the workers moved no message for five seconds. After these they
  // may still use the program. Unavailable: messages were lost on a trunk, or none came back over
  // it for two seconds; the workers have let go of the program, which has not ended.
  absl::Status Run(std::unique_ptr<Program> program);
  // Before the workers stop: a program that runs is given up.
  void Stop() { stopping_.store(true, std::memory_order_release); }

 private:
  bool finished() const {
    return orders_.finished.load(std::memory_order_acquire) == current_.get();
  }
  // Waits as Run does.
  absl::Status Wait(bool abandons);
  std::string NameOf(int after_stage) const;
  // Whether the run has lost messages on a trunk.
  absl::Status CheckLost() const;

  InBandOrders orders_;
  std::string trunk_;  // where the fabric is split
  int after_stage_ = 0;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Program> current_;  // workers may use it until it is finished
};

}  // namespace bfly::dataplane
