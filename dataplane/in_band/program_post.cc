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
// How long control waits for a program that crosses trunks while no message comes back. A data
// plane may have died, and a trunk may have lost the last message of a pass.
constexpr std::chrono::seconds kNoReturn{2};
// An answer often takes no longer than this, and a sleep would take longer.
constexpr std::chrono::microseconds kSpin{100};
constexpr std::chrono::microseconds kSleep{20};

}  // namespace

void ProgramPost::SetTrunk(std::string name, int after_stage) {
  trunk_ = std::move(name);
  after_stage_ = after_stage;
}

absl::Status ProgramPost::CheckReady() const {
  if (stopping_.load(std::memory_order_acquire)) {
    return absl::FailedPreconditionError("the fabric is unloaded");
  }
  if (current_ == nullptr || finished()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "in_band: a program begun earlier has not ended; a worker hangs");
}

std::string ProgramPost::NameOf(int after_stage) const {
  return after_stage == after_stage_ ? absl::StrCat("trunk ", trunk_, ", after stage ", after_stage)
                                     : absl::StrCat("the trunk after stage ", after_stage);
}

absl::Status ProgramPost::CheckLost() const {
  if (!orders_.split || orders_.lost_run.load(std::memory_order_acquire) !=
                            orders_.run.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      "in_band: messages were lost on ", NameOf(orders_.lost_after.load(std::memory_order_relaxed)),
      "; nothing was changed, try again"));
}

absl::Status ProgramPost::Run(std::unique_ptr<Program> program) {
  current_ = std::move(program);
  // The last program may have had the same address.
  orders_.finished.store(nullptr, std::memory_order_relaxed);
  orders_.abandon.store(false, std::memory_order_relaxed);
  orders_.posted.store(current_.get(), std::memory_order_release);
  orders_.active.store(true, std::memory_order_release);
  absl::Status status = Wait(/*abandons=*/false);
  if (absl::IsUnavailable(status)) {
    orders_.abandon.store(true, std::memory_order_release);
    if (absl::Status hangs = Wait(/*abandons=*/true); !hangs.ok()) return hangs;
  }
  if (status.ok() || absl::IsUnavailable(status)) {
    orders_.active.store(false, std::memory_order_relaxed);
  }
  return status;
}

absl::Status ProgramPost::Wait(bool abandons) {
  const Clock::time_point start = Clock::now();
  Clock::time_point moved = start;
  uint64_t passes = orders_.passes.load(std::memory_order_relaxed);
  const bool bounded_by_trunk = orders_.split && !abandons;
  const std::chrono::seconds limit = bounded_by_trunk ? kNoReturn : kNoProgress;
  while (!finished()) {
    if (stopping_.load(std::memory_order_acquire)) {
      return absl::FailedPreconditionError(
          "the fabric was unloaded before all circuits were set up");
    }
    const Clock::time_point now = Clock::now();
    if (bounded_by_trunk) {
      if (absl::Status lost = CheckLost(); !lost.ok()) return lost;
    }
    if (const uint64_t p = orders_.passes.load(std::memory_order_relaxed); p != passes) {
      passes = p;
      moved = now;
    } else if (now - moved > limit) {
      if (bounded_by_trunk) {
        return absl::UnavailableError(absl::StrCat(
            "in_band: for ", limit.count(), " s no message came back over ", NameOf(after_stage_),
            "; nothing was changed, look whether the data planes behind it run"));
      }
      return absl::DeadlineExceededError(
          absl::StrCat("in_band: no worker moved a message for ", limit.count(), " s"));
    }
    if (now - start < kSpin) {
      rte_pause();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
