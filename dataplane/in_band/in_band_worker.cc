// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/in_band_worker.h"

#include <algorithm>

namespace bfly::dataplane {
namespace {

// How many messages a ring will take, at most a burst; no ring takes all.
uint32_t RoomOf(const MessageRing* ring) {
  return ring == nullptr ? kMessageBurst : std::min<uint32_t>(kMessageBurst, ring->room());
}

}  // namespace

void InBandWorker::RunActive() {
  for (InBandPart& part : parts_) Forward(part);
  for (size_t i = parts_.size(); i-- > 0;) Backward(parts_[i]);
}

// What cannot go on waits in the ring behind. Outputs take everything, and so do inputs: so
// messages that go forward never wait for ones that come back, nor those for anybody.
void InBandWorker::Forward(InBandPart& part) {
  const uint32_t room = RoomOf(part.forward_out);
  int count = 0;
  if (part.inputs != nullptr) {
    if (part.inputs->idle() && orders_.posted.load(std::memory_order_relaxed) != nullptr) {
      part.inputs->Start(orders_.posted.exchange(nullptr, std::memory_order_acquire));
    }
    count = part.inputs->Emit(burst_.get(), static_cast<int>(room));
    if (Program* finished = part.inputs->TakeFinished()) {
      orders_.finished.store(finished, std::memory_order_release);
    }
    orders_.passes.store(part.inputs->passes(), std::memory_order_relaxed);
  } else {
    count = static_cast<int>(part.forward_in->Pop(burst_.get(), room));
  }
  if (count == 0) return;
  for (StageNodes* stage : part.stages) stage->Forward(burst_.get(), count);
  if (part.outputs != nullptr) {
    part.outputs->Take(burst_.get(), count);
  } else {
    part.forward_out->Push(burst_.get(), static_cast<uint32_t>(count));
  }
}

void InBandWorker::Backward(InBandPart& part) {
  const uint32_t room = RoomOf(part.backward_out);
  const int count = part.outputs != nullptr
                        ? part.outputs->Emit(burst_.get(), static_cast<int>(room))
                        : static_cast<int>(part.backward_in->Pop(burst_.get(), room));
  if (count == 0) return;
  for (size_t i = part.stages.size(); i-- > 0;) part.stages[i]->Backward(burst_.get(), count);
  if (part.inputs != nullptr) {
    part.inputs->Return(burst_.get(), count);
  } else {
    part.backward_out->Push(burst_.get(), static_cast<uint32_t>(count));
  }
}

}  // namespace bfly::dataplane
