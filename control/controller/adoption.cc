// SPDX-License-Identifier: Apache-2.0
#include "control/controller/adoption.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/agent/ownership.h"
#include "control/controller/agent_answers.h"
#include "control/controller/changed_ports.h"
#include "control/server/address.h"

namespace bfly::control {
namespace {

bool IsOthers(const v1::AgentState& held) { return !held.owner().empty() && !held.caller_owns(); }

}  // namespace

Adoption::Adoption(const ControllerOptions& options, LoadedIntent& intent, KeptObjects& objects,
                   Resources& resources, Reconciler& reconciler, FabricLoader& loader)
    : options_(options),
      intent_(intent),
      objects_(objects),
      resources_(resources),
      reconciler_(reconciler),
      loader_(loader) {
  std::vector<std::string> addresses = options_.agents;
  const std::vector<std::string> sockets = AgentAddresses(options_.run_directory);
  addresses.insert(addresses.end(), sockets.begin(), sockets.end());
  for (const std::string& address : addresses) {
    awaited_.push_back({address, std::make_unique<AgentClient>(address, options_.caller)});
  }
}

void Adoption::AskAll() {
  for (AwaitedAgent& agent : awaited_) {
    if (agent.answer.valid()) continue;
    agent.answer = std::async(
        std::launch::async, [&client = *agent.client] { return client.GetState(/*full=*/false); });
  }
}

void Adoption::Adopt() {
  AskAll();
  for (const AwaitedAgent& agent : awaited_) agent.answer.wait();
  AdoptLate();
}

void Adoption::AdoptLate() {
  bool any = false;
  for (AwaitedAgent& agent : awaited_) any |= agent.is_free = IsFree(agent);
  if (any) AdoptFree();
  // The owner is another controller that lives, if it still has the agent after its patience.
  const auto passed = std::chrono::steady_clock::now() - began_;
  if (passed > Ownership::kPatience + std::chrono::seconds(2)) {
    std::erase_if(awaited_, [](const AwaitedAgent& agent) {
      return agent.told_owner && !agent.is_free && !agent.answer.valid();
    });
  }
  AskAll();
}

bool Adoption::IsFree(AwaitedAgent& agent) {
  using std::chrono::seconds;
  if (!agent.answer.valid() || agent.answer.wait_for(seconds(0)) != std::future_status::ready) {
    return false;
  }
  const absl::StatusOr<v1::AgentState> held = agent.answer.get();
  if (IsUnreachable(held.status())) return false;
  if (!held.ok() || !held->loaded() || !IsOthers(*held)) return true;
  NoteOwner(agent, *held);
  return false;
}

void Adoption::NoteOwner(AwaitedAgent& agent, const v1::AgentState& held) {
  if (std::exchange(agent.told_owner, true)) return;
  options_.events->Note(v1::Event::WARNING,
                        absl::StrCat("data plane ", held.data_plane(), " at ", agent.address, " ",
                                     BelongsTo(held.owner()).message()),
                        held.data_plane());
}

void Adoption::AdoptFree() {
  const std::lock_guard change(intent_.change_lock());
  DataPlanes found;
  v1::Topology topology;
  v1::PortChanges changes;
  if (intent_.is_loaded()) topology = intent_.now().topology;
  std::erase_if(awaited_, [&](AwaitedAgent& agent) {
    if (!agent.is_free) return false;
    const auto held = agent.client->GetState(/*full=*/true);
    if (IsUnreachable(held.status())) return false;
    if (!held.ok() || !held->loaded()) return true;
    if (IsOthers(*held)) {
      NoteOwner(agent, *held);
      return false;
    }
    if (!intent_.is_loaded() && found.empty()) {
      topology = held->topology();
      changes = held->port_changes();
    }
    // A data plane that missed a change of ports gets it when it is reconciled.
    if (!SameButPorts(topology, held->topology())) {
      options_.events->Note(
          v1::Event::WARNING,
          absl::StrCat("data plane ", held->data_plane(), " at ", agent.address,
                       " runs another fabric, ", held->topology().name(), ", and is left alone"),
          held->data_plane());
      return true;
    }
    found.push_back(
        std::make_shared<DataPlane>(held->data_plane(), agent.address, options_.caller));
    return true;
  });
  if (intent_.is_loaded()) {
    for (const auto& plane : found) MoveTo(plane);
  } else if (!found.empty()) {
    TakeOver(topology, changes, found);
  }
}

void Adoption::MoveTo(const std::shared_ptr<DataPlane>& found) {
  for (const std::shared_ptr<DataPlane>& plane : DataPlanes(intent_.now().planes)) {
    if (plane->name() != found->name() || plane->address() == found->address()) continue;
    intent_.Change([&](Intent& intent) {
      std::replace(intent.planes.begin(), intent.planes.end(), plane, found);
    });
    reconciler_.Reconcile(*found).IgnoreError();
  }
}

void Adoption::TakeOver(const v1::Topology& topology, const v1::PortChanges& changes,
                        const DataPlanes& found) {
  auto intent = MakeIntent(topology, options_.run_directory, options_.caller, found,
                           intent_.last_circuit_id());
  v1::Event event;
  v1::TopologyEvent& what = *event.mutable_topology();
  what.set_fabric(topology.name());
  if (!intent.ok()) {
    event.set_severity(v1::Event::ERROR);
    what.set_change(v1::TopologyEvent::FAILED);
    what.set_reason(absl::StrCat("cannot be taken over: ", intent.status().message()));
    return options_.events->Add(std::move(event));
  }
  event.set_severity(v1::Event::INFO);
  what.set_change(v1::TopologyEvent::TAKEN_OVER);
  what.set_rows((*intent)->state.network().rows());
  (*intent)->circuits_known = false;
  (*intent)->port_changes = changes;
  resources_.FitTo((*intent)->state.network().rows());
  intent_.Replace(*std::move(intent));
  // Objects are taken over before circuits, because some circuits read objects. If the store cannot
  // be read, the watching thread goes on.
  objects_.TakeOver().IgnoreError();
  loader_.TakeOverLostFaults(found);
  options_.events->Add(std::move(event));
  // Another intent of the same data planes may take the place of this one meanwhile.
  for (const auto& plane : DataPlanes(intent_.now().planes)) {
    reconciler_.Reconcile(*plane).IgnoreError();
  }
}

}  // namespace bfly::control
