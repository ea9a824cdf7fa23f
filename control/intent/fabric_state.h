// SPDX-License-Identifier: Apache-2.0
// What the controller intends the loaded fabric to be: its network, circuits, objects, links and
// traffic, and what was answered to which key. Plain values, no gRPC, no clock, not thread-safe.
//
// Orders are executed (execute.h) on the state at once and can be undone until Commit(): the
// controller executes, tells the data plane, and commits or rolls back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/answered_keys.h"
#include "control/intent/circuits.h"
#include "control/intent/intent_change.h"
#include "control/intent/links.h"
#include "control/intent/objects.h"
#include "control/intent/order.h"
#include "control/intent/path_planner.h"
#include "control/intent/traffic.h"
#include "topologies/network.h"

namespace bfly::control {

class FabricState {
 public:
  // Circuit ids begin above `last_id`, so that ids of earlier fabrics are not given again.
  FabricState(std::shared_ptr<const Network> network, uint64_t last_id, LinkCapacity capacity = {});
  FabricState(const FabricState&) = delete;
  FabricState& operator=(const FabricState&) = delete;

  const Network& network() const { return *network_; }
  std::shared_ptr<const Network> shared_network() const { return network_; }
  const Circuits& standing() const { return circuits_; }
  const Links& links() const { return links_; }
  const Objects& data_server() const { return objects_; }
  const AnsweredKeys& keys() const { return keys_; }
  const Traffic& traffic() const { return traffic_; }
  const PathPlanner& planner() const { return planner_; }

  size_t size() const { return circuits_.size(); }
  uint64_t last_id() const { return circuits_.last_id(); }
  // Returns nothing if no circuit begins at this input.
  std::optional<StandingCircuit> AtInput(Row input) const { return circuits_.AtInput(input); }
  std::vector<StandingCircuit> circuits() const { return circuits_.all(); }  // by input
  const LinkLoad& load() const { return circuits_.load(); }
  const CircuitSet& circuit_set() const { return circuits_.set(); }
  // Returns the inputs of the circuits that cross a link that is down.
  const std::set<Row>& broken() const { return circuits_.broken(); }
  const ObjectDirectory& objects() const { return objects_.directory(); }
  const FaultSet& faults() const { return links_.faults(); }
  const LinkCapacity& capacity() const { return links_.capacity(); }
  const Blocking& blocking() const { return blocking_; }

  // The calls below make up the change since the last Commit().

  // Checks the path and puts a new circuit over it. A circuit with an `object` is a read of it. Put
  // counts each request, and each request that a full link blocks.
  absl::StatusOr<StandingCircuit> Put(const CircuitPath& path, std::optional<uint64_t> object,
                                      const FaultSet& faults);
  // Puts a new circuit over the path without a check. With `id` 0 the circuit gets the next id.
  absl::StatusOr<StandingCircuit> Stand(const CircuitPath& path, std::optional<uint64_t> object,
                                        uint64_t id);
  // Releases the circuit at `input`, which must stand.
  StandingCircuit Release(Row input);
  absl::Status Place(PlaceOrder order);
  void Remember(const std::string& key, std::string request, AnsweredKeys::Answer answer);
  // Counts requests that the data plane carried out by itself, or refused.
  void Count(const Blocking& requests);
  // Counts a request that a protocol refused, if a link is the reason: one that is full or down.
  void CountRefusal(const absl::Status& refused);

  const IntentChange& change() const { return change_; }
  CircuitChange changed_circuits() const { return NowAt(change_.inputs()); }
  // Returns what stands at these inputs now.
  CircuitChange NowAt(const std::vector<Row>& inputs) const;
  // Undoes the last edits until `size` of them are left.
  void RollBackTo(size_t size);
  void RollBack();
  void Commit();
  // Hides the change from readers while nobody knows whether it will stand: the state becomes what
  // it was before the change. The next Commit() applies the change again. Nothing may be executed
  // in between.
  void Withdraw();
  // Whether a reader would see what is not committed.
  bool shows_uncommitted() const { return !withdrawn_ && !change_.empty(); }

  // The calls below are not undone, because they say what data planes hold.

  // Takes over a circuit that a data plane holds already. `id` is the one that an earlier
  // controller gave it, or 0. With an `object` the circuit is a read of it. No change may be
  // uncommitted.
  absl::Status Adopt(Row input, Tag tag, uint64_t id, std::optional<uint64_t> object = {});
  // Takes a link or node down, or brings it back. Paths avoid what is down, and circuits over it
  // are broken. Returns the inputs of the circuits that cross it.
  std::vector<Row> SetFault(const Fault& fault, bool down);
  // Earlier controllers gave circuits the ids up to this one, and none of them is given again.
  void SkipIds(uint64_t last_id) { circuits_.SkipIds(last_id); }
  void SetTraffic(Traffic traffic) { traffic_ = std::move(traffic); }

 private:
  // Only these two change what stands or is placed.
  void Apply(const IntentEdit& edit);
  void Undo(const IntentEdit& edit);

  const std::shared_ptr<const Network> network_;
  Links links_;
  Circuits circuits_;
  Objects objects_;
  AnsweredKeys keys_;
  Traffic traffic_;
  const PathPlanner planner_;
  Blocking blocking_;  // until the last Commit()
  Blocking now_;       // since
  IntentChange change_;
  bool withdrawn_ = false;
};

}  // namespace bfly::control
