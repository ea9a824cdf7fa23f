// SPDX-License-Identifier: Apache-2.0
// What ends a run of the step clock.
#pragma once

#include <cstdint>
#include <functional>

namespace bfly::dataplane {

// When a run ends that does not end by itself.
struct StepLimits {
  uint64_t steps = UINT64_MAX;       // the most steps of this run
  uint64_t idle_steps = UINT64_MAX;  // the most steps one after the other without a move
  // The clock calls this before the first step and then before every 16th step. If it returns true,
  // the run ends. Null: the run is not interrupted.
  const std::function<bool()>* interrupted = nullptr;
};

enum class StepEnd {
  kDone,   // no node is active
  kStuck,  // no move in `idle_steps` steps
  kLimit,  // `steps` steps are over
  kInterrupted,
};

}  // namespace bfly::dataplane
