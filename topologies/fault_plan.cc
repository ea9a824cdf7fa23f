// SPDX-License-Identifier: Apache-2.0
#include "topologies/fault_plan.h"

#include "absl/strings/str_cat.h"
#include "topologies/random.h"

namespace bfly {
namespace {

bool IsDrawn(const RandomFaults& plan, double probability, RandomStream stream, uint64_t number) {
  constexpr double kOne = 18446744073709551616.0;  // 2^64
  return static_cast<double>(Random64(plan.seed, stream, number)) < probability * kOne;
}

uint32_t LinksOfLastStage(const Network& network) {
  return network.rows() * static_cast<uint32_t>(network.ports());
}

}  // namespace

void AddRandomFaults(const RandomFaults& plan, FaultSet* faults) {
  const Network& network = faults->network();
  for (uint64_t link = 0; plan.links > 0 && link < network.link_count(); ++link) {
    if (!IsDrawn(plan, plan.links, RandomStream::kLinkFaults, link)) continue;
    faults->SetLinkUp(network.link_at(link), false);
  }
  if (plan.nodes <= 0) return;
  for (int level = 0; level < network.levels(); ++level) {
    // Level 0 of a wrapped network is the inputs and the outputs.
    const bool is_end = level == 0 || level == network.stages();
    if (is_end && !plan.ends) continue;
    for (Row row = 0; row < network.rows(); ++row) {
      const uint64_t number = static_cast<uint64_t>(level) * network.rows() + row;
      if (!IsDrawn(plan, plan.nodes, RandomStream::kNodeFaults, number)) continue;
      faults->SetNodeUp({level, row}, false);
    }
  }
}

absl::Status AddFaultySwitches(uint32_t count, uint64_t seed, FaultSet* faults) {
  const Network& network = faults->network();
  const uint32_t switches = static_cast<uint32_t>(network.stages() - 1) * network.rows();
  if (count > switches) {
    return absl::OutOfRangeError(absl::StrCat("faults: ", count, " is outside 0..", switches,
                                              ", the switches between inputs and outputs"));
  }
  if (count == 0) return absl::OkStatus();
  const std::vector<uint32_t> order =
      RandomPermutation(seed, RandomStream::kCountedFaults, switches);
  for (uint32_t i = 0; i < count; ++i) {
    const int level = 1 + static_cast<int>(order[i] / network.rows());
    faults->SetNodeUp({level, order[i] % network.rows()}, false);
  }
  return absl::OkStatus();
}

absl::Status CheckAdversary(const AdversarialFaults& plan, const Network& network) {
  const auto check = [](const char* field, uint64_t value, uint64_t most) {
    if (value <= most) return absl::OkStatus();
    return absl::OutOfRangeError(
        absl::StrCat(field, ": ", value, " is outside 0..", most, ", what the last stage has"));
  };
  if (absl::Status status = check("links", plan.links, LinksOfLastStage(network)); !status.ok()) {
    return status;
  }
  return check("nodes", plan.nodes, network.rows());
}

void AddAdversarialFaults(const AdversarialFaults& plan, FaultSet* faults) {
  const Network& network = faults->network();
  const int stage = network.stages() - 1;
  uint32_t nodes = 0;
  for (Row output = 0; output < network.rows() && nodes < plan.nodes; ++output) {
    for (const LinkId& link : network.feeders(stage, output)) {
      const NodeId tail{stage, link.row};
      if (nodes == plan.nodes || faults->is_down(tail)) continue;
      faults->SetNodeUp(tail, false);
      ++nodes;
    }
  }
  uint32_t links = 0;
  for (Row output = 0; output < network.rows() && links < plan.links; ++output) {
    for (const LinkId& link : network.feeders(stage, output)) {
      if (links == plan.links || faults->blocks(network.link_index(link))) continue;
      faults->SetLinkUp(link, false);
      ++links;
    }
  }
}

}  // namespace bfly
