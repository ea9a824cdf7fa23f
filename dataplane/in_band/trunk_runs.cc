// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/trunk_runs.h"

#include <memory>
#include <random>
#include <utility>

#include "dataplane/programs/circuit_passes.h"

namespace bfly::dataplane {
namespace {

// Draws a number that cannot be guessed and that no earlier data plane had.
uint64_t DrawRun() { return uint64_t{std::random_device{}()} << 32; }

class OnePass final : public Program {
 public:
  explicit OnePass(const Pass& pass) : pass_(&pass) {}
  const Pass* NextPass() override { return std::exchange(pass_, nullptr); }
  int Emit(Message*, int) override { return 0; }
  void Return(const Message*, int) override {}
  void PassReturned(const PassTimes&) override {}

 private:
  const Pass* pass_;
};

}  // namespace

TrunkRuns::TrunkRuns(ProgramPost& post) : post_(post), run_(DrawRun()) {}

absl::Status TrunkRuns::RunPass(const Pass& pass) {
  post_.orders().run.store(++run_, std::memory_order_relaxed);
  return post_.Run(std::make_unique<OnePass>(pass));
}

absl::StatusOr<bool> TrunkRuns::Begin() {
  if (known_) {
    known_ = false;
    if (absl::Status status = RunPass(kWalkPass); !status.ok()) return status;
    known_ = post_.orders().out_of_step_run.load(std::memory_order_relaxed) != run_;
    if (known_) return false;
  }
  if (absl::Status status = RunPass(kForgetPass); !status.ok()) return status;
  known_ = true;
  return true;
}

}  // namespace bfly::dataplane
