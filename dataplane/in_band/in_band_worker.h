// SPDX-License-Identifier: Apache-2.0
// What one worker does for programs: once a pass, after its data, it carries a burst of messages
// over each of its segments forward and one backward.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "dataplane/core/ring.h"
#include "dataplane/programs/input_nodes.h"
#include "dataplane/programs/stage_nodes.h"

namespace bfly::dataplane {

using MessageRing = RingOf<Message>;

// Between the control thread and the workers.
struct InBandOrders {
  // control: writes, workers: loads. While false workers look at nothing else.
  std::atomic<bool> active{false};
  std::atomic<Program*> posted{nullptr};    // control gives, the inputs' worker takes
  std::atomic<Program*> finished{nullptr};  // the inputs' worker: writes, control: acquire loads
  std::atomic<uint64_t> passes{0};          // ever; the inputs' worker: writes
};

// The messages' side of a segment. Rings are owned by who builds it; the first part has the input
// nodes instead of rings from before, the last one the output nodes instead of rings to what
// follows.
struct InBandPart {
  std::vector<StageNodes*> stages;
  MessageRing* forward_in = nullptr;
  MessageRing* forward_out = nullptr;
  MessageRing* backward_in = nullptr;
  MessageRing* backward_out = nullptr;
  InputNodes* inputs = nullptr;
  OutputNodes* outputs = nullptr;
};

class InBandWorker {
 public:
  explicit InBandWorker(InBandOrders& orders) : orders_(orders) {}

  // Parts of earlier hops first.
  void AddPart(InBandPart part) { parts_.push_back(std::move(part)); }

  // Whether a program runs: the worker should not sleep meanwhile.
  bool Run() {
    if (!orders_.active.load(std::memory_order_relaxed)) [[likely]]
      return false;
    RunActive();
    return true;
  }

 private:
  void RunActive();
  void Forward(InBandPart& part);
  void Backward(InBandPart& part);

  InBandOrders& orders_;
  std::vector<InBandPart> parts_;
  std::unique_ptr<Message[]> burst_ = std::make_unique<Message[]>(kMessageBurst);
};

}  // namespace bfly::dataplane
