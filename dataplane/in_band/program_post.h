// SPDX-License-Identifier: Apache-2.0
// How a control thread has the workers run a program, and waits for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "dataplane/in_band/in_band_worker.h"

namespace bfly::dataplane {

// One control thread at a time may call it; any thread may call Stop.
class ProgramPost {
 public:
  InBandOrders& orders() { return orders_; }
  // Notes that other data planes run the stages behind the trunk `name`, which leaves stage
  // `after_stage`. Call it before a program runs.
  void SetTrunk(std::string name, int after_stage);

  // FailedPrecondition: the fabric is unloaded, or a worker hangs with an earlier program.
  absl::Status CheckReady() const;
  // Waits until the program has ended, and keeps it until the next one. FailedPrecondition: Stop
  // was called meanwhile; the workers may still use the program. DeadlineExceeded: the workers
  // moved no message for five seconds; they may still use the program. Unavailable: a trunk lost
  // messages, or no messages came back over it for two seconds. The workers have let go of the
  // program, which has not ended.
  absl::Status Run(std::unique_ptr<Program> program);
  // Call it before the workers stop. It gives up a program that runs.
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
  std::string trunk_;  // the trunk at which the fabric is split
  int after_stage_ = 0;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Program> current_;  // workers may use it until it is in `finished`
};

}  // namespace bfly::dataplane
