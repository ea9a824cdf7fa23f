// SPDX-License-Identifier: Apache-2.0
// What the controller intends the loaded fabric to be: its network, the circuits that stand, what
// was answered to which key. Plain values, no gRPC, no clock, not thread-safe.
//
// Orders are executed at once and can be undone until Commit(): the controller executes, tells the
// data plane, and commits or rolls back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/protocols/circuit_set.h"
#include "control/protocols/protocol.h"
#include "control/services/idempotency.h"
#include "control/status/field_errors.h"
#include "topologies/network.h"
#include "topologies/switch_settings.h"

namespace bfly::control {

struct StandingCircuit {
  uint64_t id = 0;
  CircuitPath path;
  uint32_t congestion =
      0;  // circuits on the fullest link of the path when it was set up, itself included
};

struct SetUpOrder {
  Row input = 0;
  Row output = 0;
  std::vector<Row> rows;  // the path wanted; empty: the minimum protocol chooses
};
struct ReleaseOrder {
  uint64_t id = 0;
};
struct Order {
  std::variant<SetUpOrder, ReleaseOrder> what;
  std::string key;  // empty: none
};
// The circuit set up, or the one released.
using Outcome = absl::StatusOr<StandingCircuit>;

struct PermutationOrder {
  std::string protocol;
  std::vector<Request> requests;
  ProtocolOptions options;
  bool replace = false;  // circuits at these inputs and outputs are released first
};

class FabricState {
 public:
  // Circuit ids begin above `last_id`: ids of fabrics loaded before are not given again.
  FabricState(std::shared_ptr<const Network> network, uint64_t last_id);

  const Network& network() const { return *network_; }
  std::shared_ptr<const Network> shared_network() const { return network_; }

  Outcome Execute(const Order& order);
  // In order. All or nothing: an error under "requests[i]" and nothing is done. Otherwise each has
  // its outcome, and one that fails changes nothing.
  absl::StatusOr<std::vector<Outcome>> ExecuteBatch(const std::vector<Order>& orders,
                                                    bool all_or_nothing, const std::string& key);
  absl::StatusOr<RouteResult> Execute(const PermutationOrder& order, const std::string& key);
  // What Execute would do, without doing it. Errors name "inputs[i]" and "outputs[i]".
  absl::StatusOr<RouteResult> Route(const PermutationOrder& order) const;

  // What changed at the input rows since the last Commit(): the circuits that stand there now, and
  // the rows where none does.
  struct Change {
    std::vector<StandingCircuit> install;
    std::vector<Row> remove;
    bool empty() const { return install.empty() && remove.empty(); }
  };
  Change change() const;
  void Commit() { log_.clear(); }
  // Undoes what was executed since the last Commit().
  void RollBack() { RollBackTo(0); }

  // A circuit that a data plane holds already, with the id it was given by an earlier controller
  // (0: none).
  absl::Status Adopt(Row input, Tag tag, uint64_t id);

  size_t size() const { return circuits_.size(); }
  uint64_t last_id() const { return last_id_; }
  // Null if there is none.
  std::optional<StandingCircuit> AtInput(Row input) const;
  std::vector<StandingCircuit> circuits() const;  // by input
  const LinkLoad& load() const { return circuits_.load(); }
  const CircuitSet& circuit_set() const { return circuits_; }

  // Links taken down by hand, in the order of their index.
  void SetLinkUp(LinkId link, bool up);
  std::vector<LinkId> down_links() const;

 private:
  // What a key answers: one outcome, those of a batch, or a routed permutation.
  using Answer = std::variant<StandingCircuit, std::vector<Outcome>, RouteResult>;
  struct Step {
    enum class Kind { kSetUp, kRelease, kKey } kind;
    StandingCircuit circuit;
  };

  Outcome SetUp(const SetUpOrder& order);
  Outcome Release(const ReleaseOrder& order);
  absl::StatusOr<CircuitPath> ChoosePath(const SetUpOrder& order) const;
  absl::Status CheckFree(const SetUpOrder& order) const;
  void AddBusy(absl::string_view field, const CircuitPath* holder, FieldErrors& errors) const;
  // Circuits at these inputs and outputs, each once, by input.
  std::vector<StandingCircuit> HoldersOf(const std::vector<Request>& requests) const;
  absl::Status Put(const CircuitPath& path, StandingCircuit* circuit);
  uint64_t NextId(Row input);
  void Remember(const std::string& key, const std::string& request, Answer answer);
  void RollBackTo(size_t mark);

  std::shared_ptr<const Network> network_;
  CircuitSet circuits_;
  std::unique_ptr<PathChooser> chooser_;
  std::optional<CandidatePaths> candidates_;  // where the network has two paths a request
  // Of the circuit at each input row. id = serial * rows + input, so an id leads to its row.
  struct Label {
    uint64_t id = 0;
    uint32_t congestion = 0;
  };
  std::vector<Label> labels_;
  uint64_t last_id_;
  std::set<uint64_t> down_links_;
  IdempotencyKeys<Answer> keys_;
  std::vector<Step> log_;  // since the last Commit()
};

}  // namespace bfly::control
