// SPDX-License-Identifier: Apache-2.0
#include "control/controller/port_control.h"

#include <algorithm>
#include <utility>

#include "control/controller/changed_ports.h"
#include "control/controller/tell_planes.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

v1::AgentPortsRequest PortsRequest(const v1::Topology& topology, const v1::PortChanges& changes) {
  v1::AgentPortsRequest request;
  *request.mutable_ports() = topology.ports();
  *request.mutable_hosts() = topology.hosts();
  *request.mutable_changes() = changes;
  return request;
}

TellPlane TellPorts(const v1::Topology& topology, const v1::PortChanges& changes) {
  return [request = PortsRequest(topology, changes)](AgentClient& client, Deadline deadline) {
    return client.SetPorts(request, deadline);
  };
}

// Who uses the queue pairs is news that readers want at once.
void LearnStatus(const DataPlanes& planes, Deadline deadline) {
  for (const auto& plane : planes) {
    const auto held = plane->client().GetState(/*full=*/false, deadline);
    if (!held.ok()) continue;
    plane->Learn([&](DataPlane::Known& known) { known.status = held->status(); });
  }
}

v1::AttachedPort Attached(const v1::HostPort& port, const Intent& intent) {
  v1::AttachedPort attached;
  *attached.mutable_port() = port;
  const auto& added = intent.port_changes.added();
  attached.set_added(std::any_of(added.begin(), added.end(), [&](const v1::HostPort& other) {
    return other.name() == port.name();
  }));
  for (const auto& plane : intent.planes) {
    if (plane->name() != port.data_plane()) continue;
    const DataPlane::Known known = plane->known();
    if (!known.reachable) continue;
    for (const v1::PortStatus& status : known.status.ports()) {
      if (status.name() == port.name()) *attached.mutable_status() = status;
    }
  }
  return attached;
}

}  // namespace

absl::Status PortControl::Change(v1::Topology next, v1::PortChanges changes, Deadline deadline) {
  absl::Status status = intent_.CheckUsable();
  if (status.ok()) status = CheckTime(deadline);
  if (!status.ok()) return status;
  const Intent& now = intent_.now();
  status = TellAllOrNone(now.planes, TellPorts(next, changes),
                         TellPorts(now.topology, now.port_changes), deadline);
  if (!status.ok()) return status;
  intent_.Change([&](Intent& intent) {
    intent.topology = std::move(next);
    intent.port_changes = std::move(changes);
  });
  LearnStatus(now.planes, deadline);
  return absl::OkStatus();
}

void PortControl::Note(v1::PortEvent::Change change, const v1::HostPort& port) {
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  v1::PortEvent& what = *event.mutable_port();
  what.set_change(change);
  what.set_data_plane(port.data_plane());
  what.set_port(port.name());
  events_.Add(std::move(event));
}

absl::StatusOr<v1::AddPortResponse> PortControl::Add(const v1::AddPortRequest& request,
                                                     Deadline deadline) {
  const auto change = intent_.BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  absl::Status status = intent_.CheckLoaded();
  if (!status.ok()) return status;
  v1::Topology next = intent_.now().topology;
  v1::PortChanges changes = intent_.now().port_changes;
  status = AddPortTo(request.port(), &next);
  if (!status.ok()) return status;
  const v1::HostPort port = next.ports(next.ports_size() - 1);
  NoteAdded(port, &changes);
  status = Change(std::move(next), std::move(changes), deadline);
  if (!status.ok()) return status;
  Note(v1::PortEvent::ADDED, port);
  v1::AddPortResponse response;
  *response.mutable_port() = Attached(port, intent_.now());
  return response;
}

absl::StatusOr<v1::RemovePortResponse> PortControl::Remove(const v1::RemovePortRequest& request,
                                                           Deadline deadline) {
  const auto change = intent_.BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  absl::Status status = intent_.CheckLoaded();
  if (!status.ok()) return status;
  v1::RemovePortResponse response;
  for (const v1::HostPort& port : intent_.now().topology.ports()) {
    if (port.name() == request.name()) *response.mutable_port() = Attached(port, intent_.now());
  }
  v1::Topology next = intent_.now().topology;
  v1::PortChanges changes = intent_.now().port_changes;
  status = RemovePortFrom(request.name(), &next);
  if (!status.ok()) return status;
  NoteRemoved(request.name(), &changes);
  status = Change(std::move(next), std::move(changes), deadline);
  if (!status.ok()) return status;
  Note(v1::PortEvent::REMOVED, response.port().port());
  return response;
}

absl::StatusOr<v1::GetPortsResponse> PortControl::Get() const {
  v1::GetPortsResponse response;
  const absl::Status status = intent_.Read([&](const Intent& intent) {
    for (const v1::HostPort& port : intent.topology.ports()) {
      *response.add_ports() = Attached(port, intent);
    }
  });
  if (!status.ok()) return status;
  return response;
}

absl::Status PortControl::Reconcile(DataPlane& plane, v1::AgentState& held,
                                    Deadline deadline) const {
  using google::protobuf::util::MessageDifferencer;
  const v1::Topology& wanted = intent_.now().topology;
  if (MessageDifferencer::Equals(wanted, held.topology()) ||
      !SameButPorts(wanted, held.topology())) {
    return absl::OkStatus();
  }
  const absl::Status status =
      plane.client().SetPorts(PortsRequest(wanted, intent_.now().port_changes), deadline);
  if (status.ok()) *held.mutable_topology() = wanted;
  return status;
}

}  // namespace bfly::control
