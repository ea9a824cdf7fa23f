// SPDX-License-Identifier: Apache-2.0
#include "control/controller/link_control.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "control/controller/tell_planes.h"
#include "control/events/event_record.h"
#include "control/status/field_errors.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

v1::LinkOverride SelectorOf(const v1::LinkOverride& change) {
  v1::LinkOverride selector;
  selector.set_stages(change.stages());
  selector.set_rows(change.rows());
  if (change.has_port()) selector.set_port(change.port());
  return selector;
}

void AddDown(const FaultSet& faults, const Network& network, const v1::LinkOverride& selector,
             v1::GetLinksResponse* response) {
  for (const LinkId& link : faults.down_links()) {
    if (!Selects(selector, link)) continue;
    v1::LinkRef* down = response->add_down();
    down->set_stage(static_cast<uint32_t>(link.stage));
    down->set_row(link.row);
    down->set_port(static_cast<uint32_t>(link.port));
  }
  for (const NodeId& node : faults.down_nodes()) {
    const std::vector<uint64_t> links = faults.LinksOf(node);
    if (std::none_of(links.begin(), links.end(),
                     [&](uint64_t link) { return Selects(selector, network.link_at(link)); })) {
      continue;
    }
    v1::NodeRef* down = response->add_down_nodes();
    down->set_level(static_cast<uint32_t>(node.level));
    down->set_row(node.row);
  }
}

// Adds the links that `selector` selects, as they are by `plan`.
absl::Status AddGroups(const dataplane::LinkPlan& plan, const Network& network,
                       const v1::LinkOverride& selector,
                       google::protobuf::RepeatedPtrField<v1::LinkGroup>* groups) {
  const auto selected = GroupLinks(plan, network, selector);
  if (!selected.ok()) return selected.status();
  groups->Add(selected->begin(), selected->end());
  return absl::OkStatus();
}

absl::Status ViolationsStatus(const std::vector<Violation>& violations) {
  FieldErrors errors;
  for (const Violation& violation : violations) errors.Add(violation.field, violation.message);
  return errors.ToStatus();
}

// Fills in the links that are asked for, and says which of them are down.
absl::Status FillWithLinks(const Intent& intent, const v1::LinkOverride& selector,
                           v1::GetLinksResponse* response) {
  const Network& network = intent.state.network();
  if (absl::Status status = ViolationsStatus(CheckLinkSelector(selector, network)); !status.ok()) {
    return status;
  }
  AddDown(intent.state.faults(), network, selector, response);
  const auto plan = ToLinkPlan(intent.topology.links(), intent.link_changes, network);
  if (!plan.ok()) return plan.status();
  return AddGroups(*plan, network, selector, response->mutable_links());
}

TellPlane TellLinks(const LinkOverrides& changes) {
  v1::AgentLinksRequest request;
  *request.mutable_changes() = changes;
  return [request = std::move(request)](AgentClient& client, Deadline deadline) {
    return client.SetLinks(request, deadline);
  };
}

}  // namespace

absl::StatusOr<v1::SetLinksResponse> LinkControl::Set(const v1::SetLinksRequest& request,
                                                      Deadline deadline) {
  auto change = intent_.BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  absl::Status status = intent_.CheckLoaded();
  if (!status.ok()) return status;
  const std::shared_ptr<const Network> shared_network = intent_.now().state.shared_network();
  const Network& network = *shared_network;
  status = ViolationsStatus(CheckLinkChanges(request.changes(), network));
  if (!status.ok()) return status;
  LinkOverrides changes = intent_.now().link_changes;
  for (const v1::LinkOverride& one : request.changes()) AddLinkChange(one, &changes);
  status = ViolationsStatus(CheckLinkChanges(changes, network));
  if (status.ok()) status = intent_.CheckUsable();
  if (status.ok()) status = CheckTime(deadline);
  if (!status.ok()) return status;
  const auto plan = ToLinkPlan(intent_.now().topology.links(), changes, network);
  if (!plan.ok()) return plan.status();
  status = TellAllOrNone(intent_.now().planes, TellLinks(changes),
                         TellLinks(intent_.now().link_changes), deadline);
  if (!status.ok()) return status;
  intent_.Change([&](Intent& intent) { intent.link_changes = changes; });
  Note(request.changes());
  // The answer takes a while for each change. Other changes do not wait for it.
  change->unlock();
  v1::SetLinksResponse response;
  for (const v1::LinkOverride& one : request.changes()) {
    status = AddGroups(*plan, network, SelectorOf(one), response.mutable_links());
    if (!status.ok()) return status;
  }
  return response;
}

void LinkControl::Note(const LinkOverrides& changes) {
  if (changes.empty()) return;
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  v1::LinksEvent& what = *event.mutable_links();
  what.set_change(v1::LinksEvent::CHANGED);
  what.set_count(static_cast<uint64_t>(changes.size()));
  const int shown = std::min(changes.size(), kMostInEvent);
  what.mutable_changes()->Add(changes.begin(), changes.begin() + shown);
  events_.Add(std::move(event));
}

absl::StatusOr<v1::GetLinksResponse> LinkControl::Get(const v1::GetLinksRequest& request) const {
  v1::LinkOverride selector;
  selector.set_stages(request.stages());
  selector.set_rows(request.rows());
  if (request.has_port()) selector.set_port(request.port());
  v1::GetLinksResponse response;
  absl::Status filled;
  const absl::Status status = intent_.Read(
      [&](const Intent& intent) { filled = FillWithLinks(intent, selector, &response); });
  if (!status.ok()) return status;
  if (!filled.ok()) return filled;
  return response;
}

absl::Status LinkControl::Reconcile(DataPlane& plane, const v1::AgentState& held,
                                    Deadline deadline) const {
  // Until the data plane of stage 0 was heard after a restart, nobody knows what the changes are.
  if (!intent_.now().circuits_known) return absl::OkStatus();
  v1::AgentLinksRequest wanted, has;
  *wanted.mutable_changes() = intent_.now().link_changes;
  *has.mutable_changes() = held.link_changes();
  if (google::protobuf::util::MessageDifferencer::Equals(wanted, has)) return absl::OkStatus();
  return plane.client().SetLinks(wanted, deadline);
}

}  // namespace bfly::control
