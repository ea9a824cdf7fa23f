// SPDX-License-Identifier: Apache-2.0
#include "control/controller/faults.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

void CheckFaultField(absl::string_view field, uint64_t value, uint64_t count, FieldErrors& errors) {
  if (value >= count) errors.Add(OutOfRange(field, value, 0, count - 1));
}

}  // namespace

absl::StatusOr<Fault> FaultOf(const v1::SetLinkStateRequest& request, const Network& network) {
  FieldErrors errors;
  CheckFaultField("stage", request.stage(), static_cast<uint64_t>(network.stages()), errors);
  CheckFaultField("row", request.row(), network.rows(), errors);
  CheckFaultField("port", request.port(), static_cast<uint64_t>(network.ports()), errors);
  if (!errors.empty()) return errors.ToStatus();
  return LinkId{static_cast<int>(request.stage()), request.row(), static_cast<int>(request.port())};
}

absl::StatusOr<Fault> FaultOf(const v1::SetNodeStateRequest& request, const Network& network) {
  FieldErrors errors;
  CheckFaultField("level", request.level(), static_cast<uint64_t>(network.levels()), errors);
  CheckFaultField("row", request.row(), network.rows(), errors);
  if (!errors.empty()) return errors.ToStatus();
  return NodeId{static_cast<int>(request.level()), request.row()};
}

FaultSet FaultsOf(const v1::AgentState& held, const Network& network) {
  FaultSet faults(network);
  for (const v1::LinkRef& link : held.down_links()) {
    faults.SetLinkUp({static_cast<int>(link.stage()), link.row(), static_cast<int>(link.port())},
                     false);
  }
  for (const v1::NodeRef& node : held.down_nodes()) {
    faults.SetNodeUp({static_cast<int>(node.level()), node.row()}, false);
  }
  return faults;
}

DataPlanes RunnersOf(const Fault& fault, const Intent& intent) {
  const Network& network = intent.state.network();
  DataPlanes planes;
  for (const uint64_t link : intent.state.faults().LinksOf(fault)) {
    const int stage = network.link_at(link).stage;
    const std::shared_ptr<DataPlane>& plane = intent.planes[intent.plane_of_stage[stage]];
    if (std::find(planes.begin(), planes.end(), plane) == planes.end()) planes.push_back(plane);
  }
  return planes;
}

absl::Status TellFault(const Fault& fault, bool down, const Intent& intent, Deadline deadline) {
  const auto tell = [&](DataPlane& plane, bool to, Deadline until) {
    const absl::Status status = plane.client().SetFault(fault, to, until);
    // Without an answer nobody knows what the data plane holds.
    if (!status.ok()) {
      if (down && IsUnreachable(status)) {
        plane.Learn([&](DataPlane::Known& known) { known.taken_back.push_back(fault); });
      }
      MarkOutOfStep(plane, status);
    }
    return status;
  };
  const DataPlanes planes = RunnersOf(fault, intent);
  for (size_t i = 0; i < planes.size(); ++i) {
    const absl::Status status = tell(*planes[i], down, deadline);
    if (status.ok()) continue;
    const bool was_down = intent.state.faults().is_down(fault);
    for (size_t told = 0; told < i; ++told) {
      tell(*planes[told], was_down, UndoDeadline(deadline)).IgnoreError();
    }
    return absl::Status(status.code(),
                        absl::StrCat("data plane ", planes[i]->name(), ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
