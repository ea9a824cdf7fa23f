// SPDX-License-Identifier: Apache-2.0
// How the workers of a loaded fabric are put together: segments, the rings between them, and the
// ways in and out.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/ring.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/ports/egress.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/segment.h"

namespace bfly::dataplane {

class Assembly {
 public:
  // All of them outlive the object.
  Assembly(const Network& network, const FabricPlan& plan, LoadedStages& stages, LoadedPorts& ports,
           const Workers& workers)
      : network_(network), plan_(plan), stages_(stages), ports_(ports), workers_(workers) {}

  // Once, before the workers start and after the ports are open.
  void Build();
  // Another way in, before the workers start. Only where stage 0 runs here.
  void AddFirstHopInlet(Inlet* inlet);
  void AddFirstHopInlet(std::unique_ptr<Inlet> inlet);

  // By worker, null where nothing leaves.
  const std::vector<std::unique_ptr<Egress>>& egresses() const { return egresses_; }

  // After the workers stopped: plays every worker's last pass, which takes what is on its way to
  // the worker and drops all that it has.
  void Discard();

 private:
  struct WorkerRing {
    Ring ring;
    int consumer;  // index of the worker
  };
  struct OwnedSegment {
    std::unique_ptr<Segment> segment;
    int worker;
  };

  // The order of these three matters: a worker runs its segments in the order they were added.
  void BuildReceivers();
  void BuildHops();
  void BuildTransmitters();
  void SetContinuations();
  Segment* NewSegment(int worker, std::vector<Stage*> hops);
  // From a segment to one of worker `consumer`.
  Inlet* Connect(Segment* from, Stage* last, int consumer);
  // Which worker uses queue `queue` of a port, if `by_default` is the one to do it by default.
  int PollerOf(const HostPortConfig& port, int queue, int by_default) const;

  const Network& network_;
  const FabricPlan& plan_;
  LoadedStages& stages_;
  LoadedPorts& ports_;
  const Workers& workers_;
  std::vector<std::unique_ptr<WorkerRing>> rings_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  std::vector<std::unique_ptr<Egress>> egresses_;
  std::vector<OwnedSegment> segments_;
  std::vector<Segment*> hop_segments_;  // in plan_.segments' order
  std::vector<Inlet*> arrivals_;        // what receiving workers send to the first hop
};

}  // namespace bfly::dataplane
