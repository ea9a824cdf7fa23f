// SPDX-License-Identifier: Apache-2.0
// Facts about a port or trunk that follow from the config and the plan of its fabric. These
// functions change nothing.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/core/config.h"
#include "dataplane/core/port_status.h"
#include "dataplane/ports/device_node.h"
#include "dataplane/ports/host_port.h"
#include "dataplane/ports/queue_rule.h"
#include "dataplane/ports/trunk.h"
#include "dataplane/stages/plan.h"

namespace bfly::dataplane {

// Whether packets leave to hosts from this data plane.
bool SendsToHosts(const FabricConfig& config);

// The plan outlives the result.
WorkerOfRow WorkersAt(const TrunkConfig& trunk, const FabricPlan& plan);

PolledDevice PolledBy(const HostPortConfig& port, const FabricPlan& plan, bool sends_to_hosts);
PolledDevice PolledBy(const TrunkConfig& trunk, const FabricConfig& config, const Network& network,
                      const FabricPlan& plan);

// Sets of rules, each of which brings the frames of a port to the workers of their rows. Empty if
// the row does not determine the queue pair.
std::vector<QueueRules> RulesOfPort(const HostPortConfig& port, const FabricPlan& plan);

PortStatus StatusOf(const HostPort& port, const FabricPlan& plan);
PortStatus StatusOf(const Trunk& trunk, const FabricPlan& plan);

// All rows that have a host port anywhere, ascending.
std::shared_ptr<const std::vector<Row>> FloodRows(const FabricConfig& config);

}  // namespace bfly::dataplane
