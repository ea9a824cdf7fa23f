// SPDX-License-Identifier: Apache-2.0
// What links are like: changed live, and told.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/services/controller.h"
#include "control/status/field_errors.h"

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

}  // namespace

absl::Status Controller::PushLinks(const LinkOverrides& changes, Deadline deadline) {
  v1::AgentLinksRequest request;
  *request.mutable_changes() = changes;
  for (const auto& plane : intent_->planes) {
    if (absl::Status status = plane->client().SetLinks(request, deadline); !status.ok()) {
      if (IsUnreachable(status)) MarkOutOfStep(*plane, status);
      return absl::Status(status.code(),
                          absl::StrCat("data plane ", plane->name(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SetLinksResponse> Controller::SetLinks(const v1::SetLinksRequest& request,
                                                          Deadline deadline) {
  const auto change = BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  const Network& network = intent_->state.network();
  FieldErrors errors;
  for (const Violation& violation : CheckLinkChanges(request.changes(), network)) {
    errors.Add(violation.field, violation.message);
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  LinkOverrides changes = intent_->link_changes;
  for (const v1::LinkOverride& one : request.changes()) AddLinkChange(one, &changes);
  for (const Violation& violation : CheckLinkChanges(changes, network)) {
    errors.Add(violation.field, violation.message);
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  if (absl::Status status = CheckUsable(); !status.ok()) return status;
  if (absl::Status status = CheckTime(deadline); !status.ok()) return status;
  if (absl::Status status = PushLinks(changes, deadline); !status.ok()) {
    PushLinks(intent_->link_changes, UndoDeadline(deadline)).IgnoreError();
    return status;
  }
  {
    const std::unique_lock lock(state_);
    intent_->link_changes = changes;
  }
  const auto plan = ToLinkPlan(intent_->topology.links(), changes, network);
  if (!plan.ok()) return plan.status();
  v1::SetLinksResponse response;
  for (const v1::LinkOverride& one : request.changes()) {
    const auto groups = GroupLinks(*plan, network, SelectorOf(one));
    if (!groups.ok()) return groups.status();
    response.mutable_links()->Add(groups->begin(), groups->end());
  }
  return response;
}

absl::StatusOr<v1::GetLinksResponse> Controller::GetLinks(
    const v1::GetLinksRequest& request) const {
  const std::shared_lock lock(state_);
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  const Network& network = intent_->state.network();
  v1::LinkOverride selector;
  selector.set_stages(request.stages());
  selector.set_rows(request.rows());
  if (request.has_port()) selector.set_port(request.port());
  FieldErrors errors;
  for (const Violation& violation : CheckLinkSelector(selector, network)) {
    errors.Add(violation.field, violation.message);
  }
  if (absl::Status status = errors.ToStatus(); !status.ok()) return status;
  const auto plan = ToLinkPlan(intent_->topology.links(), intent_->link_changes, network);
  if (!plan.ok()) return plan.status();
  const auto groups = GroupLinks(*plan, network, selector);
  if (!groups.ok()) return groups.status();
  v1::GetLinksResponse response;
  response.mutable_links()->Add(groups->begin(), groups->end());
  AddDown(intent_->state.faults(), network, selector, &response);
  return response;
}

}  // namespace bfly::control
