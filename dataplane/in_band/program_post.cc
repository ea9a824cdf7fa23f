// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/program_post.h"

#include <rte_pause.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kNoProgress{5};
// An answer often takes no longer than this, and a sleep would.
constexpr std::chrono::microseconds kSpin{100};
constexpr std::chrono::microseconds kSleep{20};

}  // namespace

absl::Status ProgramPost::CheckReady() const {
  if (stopping_.load(std::memory_order_acquire)) {
    return absl::FailedPreconditionError("the fabric is unloaded");
  }
  if (current_ == nullptr || orders_.finished.load(std::memory_order_acquire) == current_.get()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "in_band: a program begun earlier has not ended; a worker hangs");
}

absl::Status ProgramPost::Run(std::unique_ptr<Program> program) {
  current_ = std::move(program);
  // The one before may have had the same address.
  orders_.finished.store(nullptr, std::memory_order_relaxed);
  orders_.posted.store(current_.get(), std::memory_order_release);
  orders_.active.store(true, std::memory_order_release);
  const Clock::time_point start = Clock::now();
  Clock::time_point moved = start;
  uint64_t passes = orders_.passes.load(std::memory_order_relaxed);
  while (orders_.finished.load(std::memory_order_acquire) != current_.get()) {
    if (stopping_.load(std::memory_order_acquire)) {
      return absl::FailedPreconditionError(
          "the fabric was unloaded before all circuits were set up");
    }
    const Clock::time_point now = Clock::now();
    if (const uint64_t p = orders_.passes.load(std::memory_order_relaxed); p != passes) {
      passes = p;
      moved = now;
    } else if (now - moved > kNoProgress) {
      return absl::DeadlineExceededError(
          absl::StrCat("in_band: no worker moved a message for ", kNoProgress.count(), " s"));
    }
    if (now - start < kSpin) {
      rte_pause();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
  orders_.active.store(false, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
