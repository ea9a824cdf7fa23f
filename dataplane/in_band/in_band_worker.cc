// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/in_band_worker.h"

#include <algorithm>

namespace bfly::dataplane {
namespace {

// The number of messages that a ring can take, at most a burst. Without a ring, the number is a
// burst.
uint32_t RoomOf(const MessageRing* ring) {
  return ring == nullptr ? kMessageBurst : std::min<uint32_t>(kMessageBurst, ring->room());
}

}  // namespace

void InBandWorker::RunActive(Ledger& ledger) {
  for (InBandPart& part : parts_) Forward(part);
  for (size_t i = parts_.size(); i-- > 0;) Backward(parts_[i]);
  if (downstream_ != nullptr) downstream_->Carry(ledger);
  if (upstream_ != nullptr) upstream_->Carry();
}

// A message that cannot go on waits in the ring behind. Outputs and inputs take every message, so a
// message that goes forward never waits for one that comes back, and a message that comes back
// waits for no other worker.
void InBandWorker::Forward(InBandPart& part) {
  const uint32_t room = RoomOf(part.forward_out);
  const int count = part.inputs != nullptr
                        ? EmitInputs(part, room)
                        : static_cast<int>(part.forward_in->Pop(burst_.get(), room));
  if (count == 0) return;
  if (orders_.split) return ForwardRun(part, burst_.get(), count);
  ForwardBurst(part, burst_.get(), count);
}

int InBandWorker::EmitInputs(InBandPart& part, uint32_t room) {
  if (part.inputs->idle() && orders_.posted.load(std::memory_order_relaxed) != nullptr) {
    Program* const posted = orders_.posted.exchange(nullptr, std::memory_order_acquire);
    part.inputs->Start(posted, orders_.run.load(std::memory_order_relaxed));
  }
  if (orders_.abandon.load(std::memory_order_relaxed)) part.inputs->Abandon();
  const int count = part.inputs->Emit(burst_.get(), static_cast<int>(room));
  if (Program* finished = part.inputs->TakeFinished()) {
    orders_.finished.store(finished, std::memory_order_release);
  }
  orders_.passes.store(part.inputs->passes(), std::memory_order_relaxed);
  return count;
}

// If a run was abandoned, its last messages may stand before the first marker of the next run.
void InBandWorker::ForwardRun(InBandPart& part, Message* burst, int count) {
  for (int i = 0; i < count; ++i) {
    if (burst[i].marker != Marker::kBegin) continue;
    if (i > 0) {
      ForwardBurst(part, burst, i);
      burst += i;
      count -= i;
      i = 0;
    }
    part.skips = part.skips || burst->tag != part.run;
    part.run = burst->tag;
  }
  ForwardBurst(part, burst, count);
}

void InBandWorker::ForwardBurst(InBandPart& part, Message* burst, int count) {
  for (StageNodes* stage : part.stages) stage->Forward(burst, count);
  if (part.outputs != nullptr) {
    part.outputs->Take(burst, count);
  } else {
    part.forward_out->Push(burst, static_cast<uint32_t>(count));
  }
}

void InBandWorker::Backward(InBandPart& part) {
  const uint32_t room = RoomOf(part.backward_out);
  Message* burst = burst_.get();
  int count = part.outputs != nullptr ? part.outputs->Emit(burst, static_cast<int>(room))
                                      : static_cast<int>(part.backward_in->Pop(burst, room));
  for (; part.skips && count > 0; ++burst, --count) {
    part.skips = burst->marker != Marker::kEnd || burst->slot != static_cast<uint32_t>(part.run);
    if (!part.skips) break;
  }
  if (count == 0) return;
  for (size_t i = part.stages.size(); i-- > 0;) part.stages[i]->Backward(burst, count);
  if (part.inputs != nullptr) {
    part.inputs->Return(burst, count);
  } else {
    part.backward_out->Push(burst, static_cast<uint32_t>(count));
  }
}

}  // namespace bfly::dataplane
