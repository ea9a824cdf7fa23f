// SPDX-License-Identifier: Apache-2.0
#include "control/cli/circuit_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/cli/client.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kStreamNap{20};  // how often give_up_ is asked

}  // namespace

CircuitStream::CircuitStream(const Common& common, std::function<bool()> give_up)
    : common_(common), give_up_(std::move(give_up)), stub_(v1::Circuits::NewStub(Connect(common))) {
  stub_->async()->Stream(&context_, this);
  AddHold();  // Execute starts reads and writes outside of reactions
  StartCall();
}

CircuitStream::~CircuitStream() {
  if (over_) return;
  // Every message has its answer, so cancelling loses nothing.
  context_.TryCancel();
  End().IgnoreError();
}

absl::StatusOr<v1::CircuitResult> CircuitStream::Execute(const v1::CircuitOperations& operations) {
  if (over_) return absl::UnavailableError("the stream of circuits is over");
  *operation_.mutable_batch() = operations;
  for (v1::CircuitOperation& one : *operation_.mutable_batch()->mutable_operations()) {
    if (one.has_set_up()) one.mutable_set_up()->set_election_id(common_.election_id);
    if (one.has_release()) one.mutable_release()->set_election_id(common_.election_id);
  }
  std::unique_lock lock(mutex_);
  writing_ = reading_ = true;
  has_result_ = false;
  lock.unlock();
  StartRead(&result_);
  StartWrite(&operation_);
  lock.lock();
  absl::Status cancelled;
  const Clock::time_point deadline = Clock::now() + kCallDeadline;
  while (writing_ || reading_) {
    changed_.wait_for(lock, kStreamNap);
    if (!cancelled.ok() || !(writing_ || reading_)) continue;
    lock.unlock();
    if (give_up_ && give_up_()) {
      cancelled = absl::CancelledError("stopped while an answer was awaited");
    } else if (Clock::now() > deadline) {
      cancelled = absl::DeadlineExceededError(absl::StrCat(
          "bfly-controller at ", common_.controller_address(), " did not answer in time"));
    }
    if (!cancelled.ok()) context_.TryCancel();
    lock.lock();
  }
  const bool has_result = has_result_;
  lock.unlock();
  if (!has_result) {
    const absl::Status end = End();
    return cancelled.ok() ? end : cancelled;
  }
  // The batch was refused as a whole.
  if (result_.code() != 0) {
    return WithAdvice(
        absl::Status(static_cast<absl::StatusCode>(result_.code()), result_.message()));
  }
  if (result_.results_size() != operations.operations_size()) {
    return absl::InternalError(absl::StrCat("a message of ", operations.operations_size(),
                                            " operations got ", result_.results_size(),
                                            " results"));
  }
  return result_;
}

absl::Status CircuitStream::End() {
  over_ = true;
  RemoveHold();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  if (status_.ok()) return absl::UnavailableError("the controller ended the stream of circuits");
  const absl::Status status = Explain(status_, common_);
  return absl::Status(status.code(),
                      absl::StrCat("the stream of circuits ended: ", status.message()));
}

void CircuitStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  has_result_ = ok;
  changed_.notify_all();
}

void CircuitStream::OnWriteDone(bool) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  changed_.notify_all();
}

void CircuitStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  done_ = true;
  changed_.notify_all();
}

}  // namespace bfly::control
