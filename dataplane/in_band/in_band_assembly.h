// SPDX-License-Identifier: Apache-2.0
// Builds the parts that the workers need to carry messages: the stages over which each worker
// carries messages, the rings between them, and the ends of trunks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/in_band/in_band_worker.h"
#include "dataplane/in_band/program_wire.h"
#include "dataplane/in_band/trunk_ends.h"
#include "dataplane/stages/plan.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// The trunks of a data plane that runs a part of the stages. `upstream` is null if the data plane
// runs the first stage, `downstream` is null if it runs the last stage.
struct InBandTrunks {
  ProgramWire* upstream = nullptr;    // to the data plane before this one
  ProgramWire* downstream = nullptr;  // to the data plane behind this one
  std::string downstream_name;
  uint32_t max_frame_bytes = 0;  // the longest frame of hosts
};

class InBandAssembly {
 public:
  // `stages` has an entry for each stage, which is null for stages of another data plane. All
  // arguments must outlive the object.
  InBandAssembly(const Network& network, const FabricPlan& plan, const InBandTrunks& trunks,
                 const std::vector<std::unique_ptr<StageNodes>>& stages, InputNodes& inputs,
                 OutputNodes& outputs, InBandOrders& orders);

  // The part of a worker of the plan; null for a worker that runs no stage.
  InBandWorker* worker(int index) { return workers_[static_cast<size_t>(index)].get(); }
  // Null on the data plane of the first stage, and of the last stage.
  UpstreamEnd* upstream() { return upstream_.get(); }
  DownstreamEnd* downstream() { return downstream_.get(); }

 private:
  void MakeEnds(const Network& network, const FabricPlan& plan, const InBandTrunks& trunks,
                InBandOrders& orders);

  std::unique_ptr<UpstreamEnd> upstream_;
  std::unique_ptr<DownstreamEnd> downstream_;
  std::vector<std::unique_ptr<MessageRing>> rings_;
  std::vector<std::unique_ptr<InBandWorker>> workers_;
};

}  // namespace bfly::dataplane
