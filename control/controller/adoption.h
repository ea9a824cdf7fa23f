// SPDX-License-Identifier: Apache-2.0
// What a controller that starts takes over: the fabric that data planes hold already, and where the
// store says that objects are. Data planes that do not answer at first are asked until they do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/controller/agent_client.h"
#include "control/controller/controller_options.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/reconciler.h"
#include "control/controller/resources.h"
#include "control/store/store.h"

namespace bfly::control {

// One thread at a time uses it.
class Adoption {
 public:
  // Agents may be at the addresses of the options and at sockets in the run directory.
  Adoption(const ControllerOptions& options, LoadedIntent& intent, Store& store,
           Resources& resources, Reconciler& reconciler);

  // Takes over what the agents hold that answer now. Takes the change lock.
  void Adopt();
  // Does the same once one of the agents that were silent so far answers.
  void AdoptLate();

 private:
  // An agent that may hold a fabric but did not answer yet.
  struct SilentAgent {
    std::string address;
    std::unique_ptr<AgentClient> client;
  };

  void TakeOver(const v1::Topology& topology, const v1::PortChanges& changes,
                const DataPlanes& found);
  // A data plane of the loaded fabric answers at another address than was expected.
  void MoveTo(const std::shared_ptr<DataPlane>& found);
  void AdoptObjects();

  const ControllerOptions& options_;
  LoadedIntent& intent_;
  Store& store_;
  Resources& resources_;
  Reconciler& reconciler_;
  std::vector<SilentAgent> silent_;
};

}  // namespace bfly::control
