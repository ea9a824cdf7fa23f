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
  // Where the inputs are control writes it, elsewhere the worker that receives from the trunk;
  // workers load it. While false workers look at nothing else.
  std::atomic<bool> active{false};
  std::atomic<Program*> posted{nullptr};    // control gives, the inputs' worker takes
  std::atomic<Program*> finished{nullptr};  // the inputs' worker: writes, control: acquire loads
  std::atomic<uint64_t> passes{0};          // ever; the inputs' worker: writes

  // What follows is for fabrics that trunks split (programs/message_stream.h).

  bool split = false;                // before a worker sees it
  std::atomic<uint64_t> run{0};      // of programs that are posted; control: writes before posting
  std::atomic<bool> abandon{false};  // control: the program is to end now, whatever is on its way
  // The run that lost messages last, and the stage before the trunk that did. The worker of the
  // trunk to the data plane behind writes `lost_after`, then `lost_run`.
  std::atomic<uint64_t> lost_run{0};
  std::atomic<int> lost_after{0};
  // The last run that a data plane behind does not go on from: its links do not count what those
  // here do. The worker of the trunk to the data plane behind writes it.
  std::atomic<uint64_t> out_of_step_run{0};

  void Lost(uint64_t of_run, int after_stage) {
    lost_after.store(after_stage, std::memory_order_relaxed);
    lost_run.store(of_run, std::memory_order_release);
  }
};

}  // namespace bfly::dataplane
