// SPDX-License-Identifier: Apache-2.0
// How a control thread has the workers run a program, and waits for it.
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "dataplane/in_band/in_band_worker.h"

namespace bfly::dataplane {

// One control thread at a time, but for Stop.
class ProgramPost {
 public:
  InBandOrders& orders() { return orders_; }

  // FailedPrecondition: the fabric is unloaded, or a worker hangs with a program begun earlier.
  absl::Status CheckReady() const;
  // Waits until the program has ended, keeping it until the next one. FailedPrecondition: stopped
  // meanwhile; DeadlineExceeded: the workers moved no message for five seconds. After an error they
  // may still use the program.
  absl::Status Run(std::unique_ptr<Program> program);
  // Before the workers stop: a program that runs is given up.
  void Stop() { stopping_.store(true, std::memory_order_release); }

 private:
  InBandOrders orders_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Program> current_;  // workers may use it until it is finished
};

}  // namespace bfly::dataplane
