// SPDX-License-Identifier: Apache-2.0
// What one worker does for programs. In each pass, after its data, the worker carries a burst of
// messages forward over each of its segments, and a burst backward.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/core/ledger.h"
#include "dataplane/in_band/in_band_orders.h"
#include "dataplane/in_band/trunk_ends.h"
#include "dataplane/programs/input_nodes.h"
#include "dataplane/programs/stage_nodes.h"

namespace bfly::dataplane {

// The part of a segment that carries messages. The object that builds the part owns the rings. The
// first part has the input nodes instead of rings from the previous part, and the last part has the
// output nodes instead of rings to the next part. If trunks split the fabric, their ends have the
// rings that lead out of the data plane.
struct InBandPart {
  std::vector<StageNodes*> stages;
  MessageRing* forward_in = nullptr;
  MessageRing* forward_out = nullptr;
  MessageRing* backward_in = nullptr;
  MessageRing* backward_out = nullptr;
  InputNodes* inputs = nullptr;
  OutputNodes* outputs = nullptr;
  uint64_t run = 0;  // the run that began last
  // The messages that come back belong to earlier runs, until the first pass of `run` has ended.
  bool skips = false;
};

class InBandWorker {
 public:
  explicit InBandWorker(InBandOrders& orders) : orders_(orders) {}

  // Call it for the parts of earlier hops first.
  void AddPart(InBandPart part) { parts_.push_back(std::move(part)); }

  // The trunks whose data this worker sends or receives.
  void SetDownstream(DownstreamEnd* end) { downstream_ = end; }
  void SetUpstream(UpstreamEnd* end) { upstream_ = end; }

  // Returns whether a program runs; the worker should not sleep while one runs. Frames that trunks
  // drop are counted in `ledger`.
  bool Run(Ledger& ledger) {
    if (!orders_.active.load(std::memory_order_relaxed)) [[likely]]
      return false;
    RunActive(ledger);
    return true;
  }
  // Runs on a data plane without trunks.
  bool Run() {
    Ledger unused;
    return Run(unused);
  }

 private:
  void RunActive(Ledger& ledger);
  void Forward(InBandPart& part);
  int EmitInputs(InBandPart& part, uint32_t room);
  void ForwardRun(InBandPart& part, Message* burst, int count);
  void ForwardBurst(InBandPart& part, Message* burst, int count);
  void Backward(InBandPart& part);

  InBandOrders& orders_;
  std::vector<InBandPart> parts_;
  DownstreamEnd* downstream_ = nullptr;
  UpstreamEnd* upstream_ = nullptr;
  std::unique_ptr<Message[]> burst_ = std::make_unique<Message[]>(kMessageBurst);
};

}  // namespace bfly::dataplane
