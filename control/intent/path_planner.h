// SPDX-License-Identifier: Apache-2.0
// Chooses paths for orders, by what stands and by what is down. Changes nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/intent/circuits.h"
#include "control/intent/links.h"
#include "control/intent/objects.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"
#include "control/protocols/data_server.h"
#include "control/protocols/link_load.h"
#include "control/protocols/protocol.h"
#include "topologies/switch_settings.h"

namespace bfly::control {

// Returns the other of the two paths that a request has: p for p', and p' for every other path.
CircuitPath OtherPath(const CandidatePaths& candidates, const CircuitPath& path);

class PathPlanner {
 public:
  // All three must outlive the object.
  PathPlanner(const Network& network, const Links& links, const Circuits& circuits,
              const Objects& objects);

  // Returns the path that the protocol chooses. Where that path crosses `faults` or a link without
  // room and the other path does not, returns the other path. If neither path can be taken, returns
  // one that is whole if there is one, so that the request is refused for want of room.
  absl::StatusOr<CircuitPath> ChoosePath(const SetUpOrder& order, const FaultSet& faults) const;
  // Does the same for a path to one of the object's copies.
  CircuitPath ChooseRead(Row user, uint64_t object, const FaultSet& faults) const;
  // Chooses the path to which a circuit moves. `before`, the circuit as it was, does not stand any
  // more.
  absl::StatusOr<CircuitPath> ChooseMove(const MoveOrder& order, const StandingCircuit& before,
                                         const FaultSet& faults) const;
  // Also returns the error of `interrupt`, which a protocol that takes long asks.
  absl::StatusOr<RouteResult> ChoosePaths(const PermutationOrder& order, const FaultSet& faults,
                                          const Interrupt& interrupt = {}) const;
  absl::StatusOr<DataServerResult> ChooseReads(const ReadBatchOrder& order,
                                               const FaultSet& faults) const;
  // Returns what executing the order would choose, or the error that it would return. Errors name
  // "inputs[i]", "outputs[i]" and "paths[i].link", or "users[i]", "objects[i]" and "users[i].link".
  // `interrupt` as for ChoosePaths.
  absl::StatusOr<RouteResult> Route(const PermutationOrder& order,
                                    const Interrupt& interrupt = {}) const;
  absl::StatusOr<DataServerResult> Route(const ReadBatchOrder& order) const;

  // Tells which of the paths that a protocol may choose this path is. `at`, if it is not null, are
  // the disks of the object that the path reads.
  PathChoice ChoiceOf(const CircuitPath& path, const ObjectDirectory::Disks* at) const;
  // Returns nothing if the network has only one path for a request.
  const std::optional<CandidatePaths>& candidates() const { return candidates_; }

 private:
  absl::StatusOr<CircuitPath> ChooseBy(const std::string& protocol, uint64_t seed,
                                       const FaultSet& faults, Row input, Row output) const;
  // What stands while the order is executed: all circuits but those that it replaces.
  LinkLoad LoadBeside(const PermutationOrder& order) const;
  bool IsFit(const CircuitPath& path, const FaultSet& faults) const;
  // `chosen` does not fit.
  CircuitPath BetterOf(const CircuitPath& chosen, const CircuitPath& other,
                       const FaultSet& faults) const;

  const Network& network_;
  const Links& links_;
  const Circuits& circuits_;
  const Objects& objects_;
  std::unique_ptr<PathChooser> chooser_;
  std::optional<CandidatePaths> candidates_;
};

}  // namespace bfly::control
