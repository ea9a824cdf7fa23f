// SPDX-License-Identifier: Apache-2.0
// What a controller that starts takes over: the fabric that data planes hold already, and where the
// store says that objects are. Data planes that do not answer at first are asked until they do, and
// those that belong to another controller for 12 s: a controller that was killed loses them in that
// time.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "control/controller/agent_client.h"
#include "control/controller/controller_options.h"
#include "control/controller/fabric_loader.h"
#include "control/controller/kept_objects.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"
#include "control/controller/resources.h"

namespace bfly::control {

// One thread at a time uses it.
class Adoption {
 public:
  // Agents may be at the addresses of the options and at sockets in the run directory.
  Adoption(const ControllerOptions& options, LoadedIntent& intent, KeptObjects& objects,
           Resources& resources, Reconciler& reconciler, FabricLoader& loader);

  // Takes over what the agents hold that answer now, and waits for all answers. Takes the change
  // lock.
  void Adopt();
  // Does the same with the agents that have answered since, and waits for no others.
  void AdoptLate();

 private:
  // An agent that may hold a fabric. It did not answer yet, or belongs to another controller.
  struct AwaitedAgent {
    std::string address;
    std::unique_ptr<AgentClient> client;
    bool told_owner = false;  // an event says to whom it belongs
    bool is_free = false;     // it answered, and belongs to no other controller
    std::future<absl::StatusOr<v1::AgentState>> answer = {};  // invalid: it is not asked
  };

  void AskAll();
  // Whether the agent has answered, and belongs to no other controller.
  bool IsFree(AwaitedAgent& agent);
  // Takes over what the free agents hold, and awaits them no longer. Takes the change lock.
  void AdoptFree();
  // Says once that the agent, which holds `held`, belongs to another controller.
  void NoteOwner(AwaitedAgent& agent, const v1::AgentState& held);
  void TakeOver(const v1::Topology& topology, const v1::PortChanges& changes,
                const DataPlanes& found);
  // A data plane of the loaded fabric answers at another address than was expected.
  void MoveTo(const std::shared_ptr<DataPlane>& found);

  const ControllerOptions& options_;
  LoadedIntent& intent_;
  KeptObjects& objects_;
  Resources& resources_;
  Reconciler& reconciler_;
  FabricLoader& loader_;
  std::vector<AwaitedAgent> awaited_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace bfly::control
