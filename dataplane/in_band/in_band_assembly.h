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

// The trunks of a data plane that runs a part of the stages. `homeward` is null if the data plane
// runs the first stage, `onward` is null if it runs the last stage.
struct InBandTrunks {
  ProgramWire* homeward = nullptr;  // to the data plane before this one
  ProgramWire* onward = nullptr;    // to the data plane behind this one
  std::string onward_name;
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
  HomewardEnd* homeward() { return homeward_.get(); }  // null on the data plane of the first stage
  OnwardEnd* onward() { return onward_.get(); }        // null on the data plane of the last stage

 private:
  void MakeEnds(const Network& network, const FabricPlan& plan, const InBandTrunks& trunks,
                InBandOrders& orders);

  std::unique_ptr<HomewardEnd> homeward_;
  std::unique_ptr<OnwardEnd> onward_;
  std::vector<std::unique_ptr<MessageRing>> rings_;
  std::vector<std::unique_ptr<InBandWorker>> workers_;
};

}  // namespace bfly::dataplane
