// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/in_band_assembly.h"

#include <rte_cycles.h>

#include <utility>

#include "dataplane/core/tsc_hz.h"
#include "dataplane/programs/pass.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kMessageRingSlots = 1024;
// How long a data plane behind a trunk waits while no message of a pass comes or goes.
constexpr uint64_t kStillSeconds = 2;

uint64_t TscTicks() { return rte_rdtsc(); }

// Stages whose messages one worker carries.
struct StageRun {
  int worker;
  int first_stage;
  int last_stage;
};

// If several workers share a stage by rows, the worker of row 0 carries the messages of all rows.
// So the counts of a stage have one writer, and the marker that comes last in a ring is the last of
// its pass.
std::vector<StageRun> RunsOf(const FabricPlan& plan) {
  std::vector<StageRun> runs;
  for (int s = plan.first_stage; s <= plan.last_stage; ++s) {
    const int worker = plan.worker_of(s, 0);
    if (runs.empty() || runs.back().worker != worker) runs.push_back({worker, s, s});
    runs.back().last_stage = s;
  }
  return runs;
}

}  // namespace

void InBandAssembly::MakeEnds(const Network& network, const FabricPlan& plan,
                              const InBandTrunks& trunks, InBandOrders& orders) {
  const auto rules = [&](int after_stage) {
    return ProgramFrameRules::Of(network, after_stage, trunks.max_frame_bytes, PassCount());
  };
  orders.split = trunks.upstream != nullptr || trunks.downstream != nullptr;
  if (trunks.upstream != nullptr) {
    upstream_ = std::make_unique<UpstreamEnd>(*trunks.upstream, rules(plan.first_stage - 1), orders,
                                              &TscTicks, kStillSeconds * TscHz());
  }
  if (trunks.downstream != nullptr) {
    downstream_ =
        std::make_unique<DownstreamEnd>(*trunks.downstream, rules(plan.last_stage), orders);
  }
}

InBandAssembly::InBandAssembly(const Network& network, const FabricPlan& plan,
                               const InBandTrunks& trunks,
                               const std::vector<std::unique_ptr<StageNodes>>& stages,
                               InputNodes& inputs, OutputNodes& outputs, InBandOrders& orders)
    : workers_(plan.lcores.size()) {
  MakeEnds(network, plan, trunks, orders);
  MessageRing* forward_in = upstream_ == nullptr ? nullptr : &upstream_->forward();
  MessageRing* backward_out = upstream_ == nullptr ? nullptr : &upstream_->backward();
  const std::vector<StageRun> runs = RunsOf(plan);
  for (size_t i = 0; i < runs.size(); ++i) {
    const StageRun& run = runs[i];
    auto& worker = workers_[static_cast<size_t>(run.worker)];
    if (worker == nullptr) worker = std::make_unique<InBandWorker>(orders);
    InBandPart part;
    part.forward_in = forward_in;
    part.backward_out = backward_out;
    for (int s = run.first_stage; s <= run.last_stage; ++s) part.stages.push_back(stages[s].get());
    if (i == 0 && upstream_ == nullptr) part.inputs = &inputs;
    if (i == 0) worker->SetUpstream(upstream_.get());
    if (i + 1 < runs.size()) {
      for (MessageRing** ring : {&part.forward_out, &part.backward_in}) {
        rings_.push_back(std::make_unique<MessageRing>(kMessageRingSlots));
        *ring = rings_.back().get();
      }
      forward_in = part.forward_out;
      backward_out = part.backward_in;
    } else if (downstream_ != nullptr) {
      part.forward_out = &downstream_->forward();
      part.backward_in = &downstream_->backward();
      worker->SetDownstream(downstream_.get());
    } else {
      part.outputs = &outputs;
    }
    worker->AddPart(std::move(part));
  }
}

}  // namespace bfly::dataplane
