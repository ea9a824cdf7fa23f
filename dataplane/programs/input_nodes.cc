// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/input_nodes.h"

#include <algorithm>
#include <utility>

namespace bfly::dataplane {

void InputNodes::Start(Program* program, uint64_t run) {
  program_ = program;
  run_ = run;
  state_ = State::kDeciding;
}

void InputNodes::Abandon() {
  if (program_ != nullptr) finished_ = std::exchange(program_, nullptr);
}

int InputNodes::Emit(Message* burst, int room) {
  if (program_ == nullptr || state_ == State::kWaiting || room < 1) return 0;
  int count = 0;
  if (state_ == State::kDeciding) {
    const Pass* const pass = program_->NextPass();
    if (pass == nullptr) {
      finished_ = std::exchange(program_, nullptr);
      return 0;
    }
    ++passes_;
    times_ = {.begun = now_()};
    burst[count++] = {.tag = run_, .slot = NumberOf(*pass), .marker = Marker::kBegin};
    state_ = State::kSending;
  }
  const int sent = count < room ? program_->Emit(burst + count, room - count) : 0;
  sent_ += static_cast<uint64_t>(sent);
  count += sent;
  if (count < room) {
    burst[count++] = {.slot = static_cast<uint32_t>(run_), .marker = Marker::kEnd};
    state_ = State::kWaiting;
  }
  return count;
}

void InputNodes::Return(const Message* burst, int count) {
  if (count == 0 || program_ == nullptr) return;
  const bool ends = burst[count - 1].marker == Marker::kEnd;
  const int back = ends ? count - 1 : count;
  returned_ += static_cast<uint64_t>(back);
  if (back > 0) program_->Return(burst, back);
  if (!ends) return;
  times_.returned = now_();
  // Clocks of two cores may differ by a few cycles.
  times_.turned = std::clamp(burst[count - 1].tag, times_.begun, times_.returned);
  program_->PassReturned(times_);
  state_ = State::kDeciding;
}

Program* InputNodes::TakeFinished() { return std::exchange(finished_, nullptr); }

void OutputNodes::Take(const Message* burst, int count) {
  if (count == 0) return;
  if (disks_ != nullptr) disks_->Arrive(burst, count);
  const bool begins = burst->marker == Marker::kBegin;
  if (begins) Forget();
  const int first = begins ? 1 : 0;
  waiting_.insert(waiting_.end(), burst + first, burst + count);
  if (burst[count - 1].marker != Marker::kEnd) return;
  waiting_.back().tag = now_();
  turned_ = true;
}

void OutputNodes::Forget() {
  waiting_.clear();
  next_ = 0;
  turned_ = false;
}

int OutputNodes::Emit(Message* burst, int room) {
  if (!turned_) return 0;
  const size_t count = std::min(static_cast<size_t>(std::max(room, 0)), waiting_.size() - next_);
  std::copy_n(waiting_.begin() + static_cast<ptrdiff_t>(next_), count, burst);
  if (disks_ != nullptr) disks_->Leave(burst, static_cast<int>(count));
  next_ += count;
  if (next_ == waiting_.size()) Forget();
  return static_cast<int>(count);
}

}  // namespace bfly::dataplane
