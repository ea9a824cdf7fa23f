// SPDX-License-Identifier: Apache-2.0
// How the messages' side of the workers is put together: which stages each carries messages over,
// the rings between them, and the ends of trunks.
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

// The trunks of a data plane that runs a part of the stages; null where it runs the first or the
// last.
struct InBandTrunks {
  ProgramWire* homeward = nullptr;  // from the data plane before
  ProgramWire* onward = nullptr;    // to the data plane behind
  std::string onward_name;
  uint32_t max_frame_bytes = 0;  // of hosts' frames
};

class InBandAssembly {
 public:
  // `stages` by stage, null on another data plane. All of them outlive the object.
  InBandAssembly(const Network& network, const FabricPlan& plan, const InBandTrunks& trunks,
                 const std::vector<std::unique_ptr<StageNodes>>& stages, InputNodes& inputs,
                 OutputNodes& outputs, InBandOrders& orders);

  // By worker of the plan; null for one that runs no stage.
  InBandWorker* worker(int index) { return workers_[static_cast<size_t>(index)].get(); }
  HomewardEnd* homeward() { return homeward_.get(); }  // null where the first stage is
  OnwardEnd* onward() { return onward_.get(); }        // null where the last stage is

 private:
  void MakeEnds(const Network& network, const FabricPlan& plan, const InBandTrunks& trunks,
                InBandOrders& orders);

  std::unique_ptr<HomewardEnd> homeward_;
  std::unique_ptr<OnwardEnd> onward_;
  std::vector<std::unique_ptr<MessageRing>> rings_;
  std::vector<std::unique_ptr<InBandWorker>> workers_;
};

}  // namespace bfly::dataplane
