// SPDX-License-Identifier: Apache-2.0
// FabricState: links that go down, and the circuits they break.
#include "control/intent/fabric_state.h"

namespace bfly::control {
namespace {

bool Crosses(const Network& network, const CircuitPath& path, LinkId link) {
  const int hops = network.hops();
  Row row = path.input;
  for (int hop = 0; hop < hops; ++hop) {
    const int stage = network.stage_of_hop(hop);
    const int port = PortOfHop(path.tag, hop, hops);
    if (stage == link.stage && row == link.row && port == link.port) return true;
    // Only a wrapped network has the stage once more.
    if (stage == link.stage && !network.wrapped()) return false;
    row = network.next_row(stage, row, port);
  }
  return false;
}

}  // namespace

void FabricState::NoteBroken(Row input) {
  if (faults_.empty() && broken_.empty()) return;
  const CircuitPath* path = circuits_.AtInput(input);
  if (path != nullptr && !faults_.IsWhole(input, path->tag)) {
    broken_.insert(input);
  } else {
    broken_.erase(input);
  }
}

std::vector<Row> FabricState::Crossing(LinkId link) const {
  std::vector<Row> crossing;
  const uint32_t circuits = circuits_.load().on(link);
  // A path of two passes counts twice on a link; the last rows are then looked at for nothing.
  for (Row input = 0; crossing.size() < circuits && input < network_->rows(); ++input) {
    const CircuitPath* path = circuits_.AtInput(input);
    if (path != nullptr && Crosses(*network_, *path, link)) crossing.push_back(input);
  }
  return crossing;
}

std::vector<Row> FabricState::SetLinkUp(LinkId link, bool up) {
  faults_.SetLinkUp(link, up);
  std::vector<Row> crossing = Crossing(link);
  for (const Row input : crossing) NoteBroken(input);
  return crossing;
}

}  // namespace bfly::control
