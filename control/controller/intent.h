// SPDX-License-Identifier: Apache-2.0
// What the controller intends to run: the topology, where its stages are, and the state of its
// circuits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/schedules.pb.h"
#include "bfly/v1/topology.pb.h"
#include "control/controller/data_plane.h"
#include "control/intent/fabric_state.h"
#include "control/topology_file/link_policy.h"

namespace bfly::control {

using DataPlanes = std::vector<std::shared_ptr<DataPlane>>;

// Intent::whole_at while the ingress may have been loaded and lack the rest of the intent, and of
// what an earlier bfly kept, which did not note it.
inline constexpr char kNobody[] = "nobody";

struct Intent {
  v1::Topology topology;  // complete: defaults filled in
  FabricState state;
  // They are in the order of their first stage: packets go from earlier ones to later ones.
  DataPlanes planes;
  std::vector<size_t> plane_of_stage;  // index into planes
  LinkOverrides link_changes = {};     // made live, to the topology's links
  v1::PortChanges port_changes = {};   // made live; `topology` has them
  // That runs, or that shall run as soon as the data planes take it.
  std::optional<v1::Schedule> schedule = {};
  bool schedule_known = false;  // a call, the ingress or the store has said which is wanted
  // After a restart it is false until the data plane that holds the circuits has answered.
  bool circuits_known = true;
  // The process of the ingress (AgentState.boot_id) that was last seen to hold all of this intent,
  // or kNobody. Empty: the intent is of a fabric that was taken over, and nothing is known yet.
  std::string whole_at = {};
  // How often this fabric was loaded again because another one could not replace it. Each time its
  // data planes count from 0.
  uint64_t restores = 0;
  // Why nobody knows which objects were placed before a restart; empty: it is known.
  std::string store_problem = {};

  void SetSchedule(std::optional<v1::Schedule> wanted) {
    schedule = std::move(wanted);
    schedule_known = true;
  }
  // Whether the controller knows all that the store has of the fabric, and may write it anew.
  bool is_known() const { return circuits_known && store_problem.empty(); }
  // The data plane of stage 0, which gives packets their tags.
  DataPlane& ingress() const { return *planes[plane_of_stage[0]]; }
};

// Completes and checks the topology: INVALID_ARGUMENT names every error under "topology". Data
// planes of `known` with the same name and address are used again; the others are claimed as
// `caller`'s.
absl::StatusOr<std::unique_ptr<Intent>> MakeIntent(v1::Topology topology,
                                                   const std::string& run_directory,
                                                   const AgentCaller& caller,
                                                   const DataPlanes& known, uint64_t last_id);

// The error of a data plane that belongs to another controller.
absl::Status BelongsTo(const std::string& owner);

// The name by which the store of objects tells this fabric from others.
std::string NameForStore(const v1::Topology& topology);

// Makes the message that asks the agent of `plane` to load or verify its fabric.
v1::AgentFabricRequest FabricRequest(const Intent& intent, const DataPlane& plane);

}  // namespace bfly::control
