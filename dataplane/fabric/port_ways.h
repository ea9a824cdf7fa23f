// SPDX-License-Identifier: Apache-2.0
// The ways of host ports that come and go while the workers run: the segments into which their
// frames come, and the workers by which frames reach them.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/fabric/assembly.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/stages/plan.h"

namespace bfly::dataplane {

struct PortWays {
  std::vector<Segment*> in;  // one for each queue pair; empty if another data plane runs stage 0
  struct Out {
    int worker;
    int queue;
    std::vector<Row> rows;
  };
  std::vector<Out> out;  // empty if a trunk leads on
};

// The ways of a port that is added. The assembly has these ways already; the function makes no
// rings between workers. FailedPrecondition, which begins with the field: a way is missing.
absl::StatusOr<PortWays> FindPortWays(const HostPortConfig& port, const FabricPlan& plan,
                                      const Network& network, Assembly& assembly);

// Control, one thread at a time: offers the workers the inlets and transmitters of a port, or takes
// them away. Returns what must stay until all workers have answered their epochs.
std::vector<std::shared_ptr<const void>> Join(HostPort& port, const PortWays& ways,
                                              const Assembly& assembly);
std::vector<std::shared_ptr<const void>> Part(HostPort& port, const Assembly& assembly,
                                              const Workers& workers);

}  // namespace bfly::dataplane
