// SPDX-License-Identifier: Apache-2.0
// What the control thread and the workers of one data plane tell each other about programs.
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/core/ring.h"
#include "dataplane/programs/message.h"
#include "dataplane/programs/program.h"

namespace bfly::dataplane {

using MessageRing = RingOf<Message>;

struct InBandOrders {
  // Whether a program runs; while false, workers read no other member. On the data plane of the
  // inputs control writes it; on another data plane the worker that receives from the trunk writes
  // it. Workers load it.
  std::atomic<bool> active{false};
  std::atomic<Program*> posted{nullptr};    // control gives a program, the inputs' worker takes it
  std::atomic<Program*> finished{nullptr};  // the inputs' worker: writes, control: acquire loads
  // Passes since the fabric was loaded; the inputs' worker: writes.
  std::atomic<uint64_t> passes{0};

  // The members below are for fabrics that trunks split (programs/message_stream.h).

  bool split = false;  // set before a worker reads it
  // The run of the programs that are posted; control: writes before posting.
  std::atomic<uint64_t> run{0};
  // Control: writes; the program must end now, even if messages are on their way.
  std::atomic<bool> abandon{false};
  // The last run that lost messages, and the stage before the trunk that lost them. The worker of
  // the trunk to the data plane behind writes `lost_after`, then `lost_run`.
  std::atomic<uint64_t> lost_run{0};
  std::atomic<int> lost_after{0};
  // The last run in which a data plane behind had not taken part in the run before, so that its
  // links count other circuits than the links here. The worker of the trunk to the data plane
  // behind writes it.
  std::atomic<uint64_t> out_of_step_run{0};

  void Lost(uint64_t of_run, int after_stage) {
    lost_after.store(after_stage, std::memory_order_relaxed);
    lost_run.store(of_run, std::memory_order_release);
  }
};

}  // namespace bfly::dataplane
