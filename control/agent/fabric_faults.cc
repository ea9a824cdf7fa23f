// SPDX-License-Identifier: Apache-2.0
#include "control/agent/fabric_faults.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "topologies/faulty_switches.h"

namespace bfly::control {
namespace {

using Stages = std::pair<int, int>;  // the first and the last stage that a data plane runs

bool Runs(const Stages& stages, const LinkId& link) {
  return stages.first <= link.stage && link.stage <= stages.second;
}

absl::Status CheckFaultHere(const Fault& fault, const Network& network, const Stages& stages) {
  if (absl::Status status = CheckFault(fault, network); !status.ok()) {
    return absl::InvalidArgumentError(status.message());
  }
  // Another data plane may run some links of a node.
  const LinkId* const link = std::get_if<LinkId>(&fault);
  if (link == nullptr || Runs(stages, *link)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("stage: ", link->stage, " is outside ",
                                                 stages.first, "..", stages.second,
                                                 ", the stages of this data plane"));
}

// A verified config runs some stages.
Stages StagesOf(const dataplane::FabricConfig& config) {
  Stages stages = {config.placement.front().first_stage, config.placement.front().last_stage};
  for (const dataplane::StagePlacement& part : config.placement) {
    stages.first = std::min(stages.first, part.first_stage);
    stages.second = std::max(stages.second, part.last_stage);
  }
  return stages;
}

std::vector<uint64_t> LinksToAvoid(const FaultSet& faults) {
  if (faults.network().multiplicity() == 1) return {};
  return FaultySwitches(faults).links_to_avoid();
}

}  // namespace

absl::Status BeginWithFaults(const std::vector<Fault>& down, dataplane::FabricConfig& config) {
  if (down.empty()) return absl::OkStatus();
  const absl::StatusOr<Network> network = Network::Make(config.network);
  if (!network.ok()) return network.status();
  const Stages stages = StagesOf(config);
  FaultSet faults(*network);
  for (const Fault& fault : down) {
    const absl::Status status = CheckFaultHere(fault, *network, stages);
    if (!status.ok()) return status;
    faults.SetFault(fault, /*down=*/true);
  }
  for (const LinkId& link : faults.blocked_links()) {
    if (Runs(stages, link)) config.down_links.push_back(network->link_index(link));
  }
  config.avoided_links = LinksToAvoid(faults);
  return absl::OkStatus();
}

absl::Status TellFabric(const Fault& fault, bool down, dataplane::Fabric& fabric,
                        FaultSet& faults) {
  const Network& network = fabric.network();
  const Stages stages = fabric.stages();
  if (absl::Status status = CheckFaultHere(fault, network, stages); !status.ok()) return status;
  faults.SetFault(fault, down);
  for (const uint64_t index : faults.LinksOf(fault)) {
    const LinkId link = network.link_at(index);
    if (!Runs(stages, link)) continue;
    if (absl::Status status = fabric.SetLinkUp(link, !faults.blocks(index)); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

void TellAvoided(const FaultSet& faults, dataplane::Fabric& fabric) {
  if (faults.network().multiplicity() == 1) return;
  fabric.AvoidLinks(LinksToAvoid(faults));
}

}  // namespace bfly::control
