// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/input_nodes.h"

#include <algorithm>
#include <utility>

namespace bfly::dataplane {

void InputNodes::Start(Exchange* exchange) {
  exchange_ = exchange;
  state_ = State::kDeciding;
}

int InputNodes::Emit(Probe* burst, int room) {
  if (exchange_ == nullptr || state_ == State::kWaiting || room < 1) return 0;
  int count = 0;
  if (state_ == State::kDeciding) {
    if (!exchange_->NextPass()) {
      finished_ = std::exchange(exchange_, nullptr);
      return 0;
    }
    ++passes_;
    times_ = {.begun = now_()};
    burst[count++] = {.kind = ProbeKind::kBegin};
    state_ = State::kSending;
  }
  const int probes = count < room ? exchange_->Emit(burst + count, room - count) : 0;
  sent_ += static_cast<uint64_t>(probes);
  count += probes;
  if (count < room) {
    burst[count++] = {.kind = ProbeKind::kEnd};
    state_ = State::kWaiting;
  }
  return count;
}

void InputNodes::Return(const Probe* burst, int count) {
  if (count == 0) return;
  const bool ends = burst[count - 1].kind == ProbeKind::kEnd;
  const int probes = ends ? count - 1 : count;
  returned_ += static_cast<uint64_t>(probes);
  if (probes > 0) exchange_->Return(burst, probes);
  if (!ends) return;
  times_.returned = now_();
  // Clocks of two cores may differ by a few cycles.
  times_.turned = std::clamp(burst[count - 1].tag, times_.begun, times_.returned);
  exchange_->PassReturned(times_);
  state_ = State::kDeciding;
}

Exchange* InputNodes::TakeFinished() { return std::exchange(finished_, nullptr); }

void OutputNodes::Take(const Probe* burst, int count) {
  if (disks_ != nullptr) disks_->Arrive(burst, count);
  for (int i = 0; i < count; ++i) {
    if (burst[i].kind == ProbeKind::kBegin) continue;
    waiting_.push_back(burst[i]);
    if (burst[i].kind == ProbeKind::kEnd) {
      waiting_.back().tag = now_();
      turned_ = true;
    }
  }
}

int OutputNodes::Emit(Probe* burst, int room) {
  if (!turned_) return 0;
  const size_t count = std::min(static_cast<size_t>(std::max(room, 0)), waiting_.size() - next_);
  std::copy_n(waiting_.begin() + static_cast<ptrdiff_t>(next_), count, burst);
  if (disks_ != nullptr) disks_->Leave(burst, static_cast<int>(count));
  next_ += count;
  if (next_ == waiting_.size()) {
    waiting_.clear();
    next_ = 0;
    turned_ = false;
  }
  return static_cast<int>(count);
}

}  // namespace bfly::dataplane
