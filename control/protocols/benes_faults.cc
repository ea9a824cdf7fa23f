// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/benes_faults.h"

#include <algorithm>

#include "control/protocols/bottleneck_path.h"

namespace bfly::control {
namespace {

// The search for a better mask looks at this many faulty links at most.
constexpr uint64_t kMostLooks = uint64_t{1} << 26;
constexpr uint8_t kNoPath = 2;

// If all middle rows change by `mask`, the rows of a level change by the part of `mask` that this
// function returns: the positions in which a path at that level already has, or still has, its
// middle row's bits. The first copy sets these positions from the left, the second copy gives them
// up from the right.
Row MaskAtLevel(const Network& network, int level, Row mask) {
  const int d = network.dimension();
  const Row right = (Row{1} << (level <= d ? d - level : level - d)) - 1;
  return mask & ~right;
}

// Returns, for each row, the port by which a path leaves the row at this stage, or kNoPath.
std::vector<uint8_t> PortsOfStage(const Network& network, int stage,
                                  const std::vector<Request>& requests,
                                  const std::vector<Row>& middle) {
  std::vector<uint8_t> ports(network.rows(), kNoPath);
  for (const auto& [input, output] : requests) {
    const Tag tag = TagThrough(network, middle[input], output);
    Row row = input;
    for (int hop = 0; hop < stage; ++hop) {
      row = network.next_row(hop, row, PortOfHop(network, tag, hop));
    }
    ports[row] = static_cast<uint8_t>(PortOfHop(network, tag, stage));
  }
  return ports;
}

}  // namespace

Row MaskAroundFaults(const Network& network, const std::vector<Request>& requests,
                     const std::vector<Row>& middle, const FaultSet& faults) {
  const std::vector<LinkId> blocked = faults.blocked_links();
  std::vector<std::vector<uint8_t>> ports(network.stages());
  for (const LinkId& link : blocked) {
    std::vector<uint8_t>& of_stage = ports[link.stage];
    if (of_stage.empty()) of_stage = PortsOfStage(network, link.stage, requests, middle);
  }
  const auto is_used = [&](const LinkId& link, Row mask) {
    const uint8_t port = ports[link.stage][link.row ^ MaskAtLevel(network, link.stage, mask)];
    if (port == kNoPath) return false;
    const Row turned = MaskAtLevel(network, link.stage + 1, mask) & network.wiring(link.stage).mask;
    return (port ^ (turned != 0)) == link.port;
  };
  const uint64_t masks =
      std::min<uint64_t>(network.rows(), kMostLooks / std::max<size_t>(blocked.size(), 1) + 1);
  Row best = 0;
  int64_t fewest = -1;
  for (Row mask = 0; mask < masks && fewest != 0; ++mask) {
    const int64_t used = std::count_if(blocked.begin(), blocked.end(),
                                       [&](const LinkId& link) { return is_used(link, mask); });
    if (fewest >= 0 && used >= fewest) continue;
    fewest = used;
    best = mask;
  }
  return best;
}

absl::Status RerouteBroken(const Network& network, const LinkLoad* standing, const FaultSet& faults,
                           const Interrupt& interrupt, RouteResult& result) {
  std::vector<uint32_t> broken;
  for (uint32_t i = 0; i < result.paths.size(); ++i) {
    if (!faults.IsWhole(result.paths[i].input, result.paths[i].tag)) broken.push_back(i);
  }
  if (broken.empty()) return absl::OkStatus();
  LinkLoad load = standing == nullptr ? LinkLoad(network) : *standing;
  for (const CircuitPath& path : result.paths) load.Add(path.input, path.tag);
  const BottleneckPath least_full({.faults = &faults});
  for (const uint32_t i : broken) {
    if (absl::Status status = interrupt ? interrupt() : absl::OkStatus(); !status.ok()) {
      return status;
    }
    CircuitPath& path = result.paths[i];
    load.Remove(path.input, path.tag);
    const Tag tag = least_full.Choose(load, path.input, path.output).tag;
    if (faults.IsWhole(path.input, tag)) {
      path.tag = tag;
      path.choice = PathChoice::kArbitrary;
    }
    load.Add(path.input, path.tag);
    result.requests_left.push_back(i);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
