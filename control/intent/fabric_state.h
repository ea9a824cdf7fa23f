// SPDX-License-Identifier: Apache-2.0
// What the controller intends the loaded fabric to be: its network, the circuits that stand, what
// was answered to which key. Plain values, no gRPC, no clock, not thread-safe.
//
// Orders are executed at once and can be undone until Commit(): the controller executes, tells the
// data plane, and commits or rolls back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/answered_keys.h"
#include "control/intent/in_band_order.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"
#include "control/protocols/circuit_set.h"
#include "control/protocols/data_server.h"
#include "control/protocols/object_directory.h"
#include "control/protocols/protocol.h"
#include "control/status/field_errors.h"
#include "topologies/fault_set.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"
#include "topologies/switch_settings.h"

namespace bfly::control {

// RESOURCE_EXHAUSTED names the link.
absl::Status NoRoom(LinkId link, uint32_t circuits, uint32_t capacity);

// The error of a read as that of number `i` of many: its fields "user", "object" as "users[i]",
// "objects[i]", others under "users[i]". An error without fields stays as it is.
absl::Status AsOneOfMany(const absl::Status& status, size_t i);

class FabricState {
 public:
  // Circuit ids begin above `last_id`: ids of fabrics loaded before are not given again.
  FabricState(std::shared_ptr<const Network> network, uint64_t last_id, LinkCapacity capacity = {});

  const Network& network() const { return *network_; }
  std::shared_ptr<const Network> shared_network() const { return network_; }

  Outcome Execute(const Order& order);
  // In order. All or nothing: an error under "requests[i]" and nothing is done; so it is after an
  // interrupt. Otherwise each has its outcome, and one that fails changes nothing; those that an
  // interrupt was quicker than have its error.
  absl::StatusOr<std::vector<Outcome>> ExecuteBatch(const std::vector<Order>& orders,
                                                    bool all_or_nothing, const std::string& key,
                                                    const Interrupt& interrupt = {});
  // All or nothing, also after an interrupt.
  absl::StatusOr<RouteResult> Execute(const PermutationOrder& order, const std::string& key,
                                      const Interrupt& interrupt = {});
  // What Execute would do, without doing it. Errors name "inputs[i]" and "outputs[i]".
  absl::StatusOr<RouteResult> Route(const PermutationOrder& order) const;

  // The data server. FailedPrecondition: the network is no RB_n. Placing is all or none, and so is
  // a batch of reads; errors name "objects[i]" and "users[i]".
  absl::Status Execute(const PlaceOrder& order);
  absl::StatusOr<DataServerResult> Execute(const ReadBatchOrder& order, const std::string& key = "",
                                           const Interrupt& interrupt = {});
  absl::StatusOr<DataServerResult> Route(const ReadBatchOrder& order) const;
  Outcome StopReading(Row user);
  std::vector<Row> Readers() const;  // users that read something, ascending
  const ObjectDirectory& objects() const { return *objects_; }
  // For what the data plane does by itself: whether it can be asked to, whose circuits it releases
  // first, and what it did then. `route` has the paths; buddies and congestion are filled in. After
  // an error RollBack is due.
  absl::Status CheckInBand(const InBandOrder& order) const;
  std::vector<Row> ReleasedBy(const InBandOrder& order) const;
  // What Execute would have answered where `link` is down, or has no room for the path of request
  // `request`, which then is counted as blocked.
  absl::Status LearnRefusal(const InBandOrder& order, uint32_t request, LinkId link, bool down,
                            uint32_t circuits, uint32_t capacity);
  absl::Status Learn(const InBandOrder& order, RouteResult& route,
                     std::vector<StandingCircuit>* circuits);
  // What the same order was answered under this key; null: the key is new, or there is none.
  absl::StatusOr<std::shared_ptr<const InBandOutcome>> FindInBand(const InBandOrder& order,
                                                                  const std::string& key) const;
  void RememberInBand(const InBandOrder& order, const std::string& key,
                      const InBandOutcome& outcome);

  // What changed at the input rows since the last Commit(): the circuits that stand there now, and
  // the rows where none does.
  struct Change {
    std::vector<StandingCircuit> install;
    std::vector<Row> remove;
    bool empty() const { return install.empty() && remove.empty(); }
  };
  Change change() const;
  // The records of what was placed since the last Commit(), in order; of a placement that replaces
  // all before, and those after it, if there is one.
  struct Placed {
    std::vector<std::string> records;
    bool replaces = false;
  };
  Placed placed() const;
  void Commit();
  // Undoes what was executed since the last Commit().
  void RollBack();
  // For readers while it is not certain whether what was executed since the last Commit() stands:
  // from here on the state is as if it had not been. The next Commit() does it again. Nothing may
  // be executed in between.
  void Withdraw();
  // Whether a reader would see what is not committed.
  bool shows_uncommitted() const { return !withdrawn_ && !log_.empty(); }

  // A circuit that a data plane holds already, with the id it was given by an earlier controller
  // (0: none), and as a read of `object` if there is one.
  absl::Status Adopt(Row input, Tag tag, uint64_t id, std::optional<uint64_t> object = {});

  size_t size() const { return circuits_.size(); }
  uint64_t last_id() const { return last_id_; }
  // Null if there is none.
  std::optional<StandingCircuit> AtInput(Row input) const;
  std::vector<StandingCircuit> circuits() const;  // by input
  const LinkLoad& load() const { return circuits_.load(); }
  const CircuitSet& circuit_set() const { return circuits_; }

  const LinkCapacity& capacity() const { return capacity_; }
  const Blocking& blocking() const { return blocking_; }

  // Inputs of the circuits that cross the link.
  std::vector<Row> Crossing(LinkId link) const;
  // Links that are down are avoided from then on, and break the circuits that cross them. Not
  // undone by RollBack. Returns the inputs of the circuits that cross the link.
  std::vector<Row> SetLinkUp(LinkId link, bool up);
  // In the order of their index.
  std::vector<LinkId> down_links() const { return faults_.down_links(); }
  // Inputs of the circuits that cross a link that is down.
  const std::set<Row>& broken() const { return broken_; }
  const FaultSet& faults() const { return faults_; }

 private:
  using Answer = AnsweredKeys::Answer;
  struct Step {
    enum class Kind { kSetUp, kRelease, kKey, kPlace } kind;
    StandingCircuit circuit;
    std::shared_ptr<const ObjectDirectory> objects;  // kPlace: those before, or after if undone
    std::string record = {};
    bool replaces = false;
  };

  // What paths must not cross: what is down, and what a request wants avoided. The faults are those
  // of the state itself unless there is something to avoid.
  class Forbidden {
   public:
    // `avoid` was checked.
    Forbidden(const FaultSet& faults, const std::vector<LinkId>& avoid);
    const FaultSet& faults() const { return own_.has_value() ? *own_ : faults_; }

   private:
    const FaultSet& faults_;
    std::optional<FaultSet> own_;
  };

  Outcome SetUp(const SetUpOrder& order);
  Outcome Release(const ReleaseOrder& order);
  Outcome Move(const MoveOrder& order);
  Outcome Read(const ReadOrder& order);
  absl::StatusOr<CircuitPath> ChoosePath(const SetUpOrder& order, const FaultSet& faults) const;
  absl::StatusOr<CircuitPath> ChooseMove(const MoveOrder& order, const StandingCircuit& before,
                                         const FaultSet& faults) const;
  // To the object's copies.
  CircuitPath ChooseRead(Row user, uint64_t object, const FaultSet& faults) const;
  absl::StatusOr<StandingCircuit> FindForMove(const MoveOrder& order) const;
  // INVALID_ARGUMENT names "avoid[i].row" and the like.
  absl::Status CheckAvoid(const std::vector<LinkId>& avoid) const;
  absl::Status CheckFree(const SetUpOrder& order) const;
  void AddBusy(absl::string_view field, const CircuitPath* holder, FieldErrors& errors) const;
  void AddBusyOutput(absl::string_view field, Row output, FieldErrors& errors) const;
  // Circuits at these inputs and outputs, each once, by input.
  std::vector<StandingCircuit> HoldersOf(const std::vector<Request>& requests) const;
  // UNAVAILABLE names the first link of the path that `faults` block, RESOURCE_EXHAUSTED the first
  // one without room.
  absl::Status CheckPath(const CircuitPath& path, const FaultSet& faults) const;
  absl::Status CheckRoom(const CircuitPath& path) const;
  // With `object` a read. Counts what is asked and what is blocked.
  absl::Status Put(const CircuitPath& path, std::optional<uint64_t> object, const FaultSet& faults,
                   StandingCircuit* circuit);
  // The same without a check. `id`: 0 for the next one.
  absl::Status Stand(const CircuitPath& path, std::optional<uint64_t> object, uint64_t id,
                     StandingCircuit* circuit);
  absl::StatusOr<RouteResult> ChoosePaths(const PermutationOrder& order,
                                          const FaultSet& faults) const;
  absl::StatusOr<DataServerResult> ChooseReads(const ReadBatchOrder& order,
                                               const FaultSet& faults) const;
  // The circuit at an input may have become broken or whole.
  void NoteBroken(Row input);
  Outcome Undo(Row input);
  absl::Status CheckDataServer() const;
  absl::Status CheckRead(Row user, uint64_t object) const;
  absl::Status CheckReads(const ReadBatchOrder& order) const;
  absl::Status CheckStopReading(Row user) const;
  absl::Status CheckReadsInBand(const InBandOrder& order) const;
  absl::Status CheckCircuitsInBand(const InBandOrder& order) const;
  uint64_t NextId(Row input);
  void Remember(const std::string& key, const std::string& request, Answer answer);
  void RollBackTo(size_t mark);
  // What the step put up or took down.
  void PutUp(const StandingCircuit& circuit);
  void TakeDown(const StandingCircuit& circuit);

  std::shared_ptr<const Network> network_;
  CircuitSet circuits_;
  std::unique_ptr<PathChooser> chooser_;
  std::optional<CandidatePaths> candidates_;  // where the network has two paths a request
  // Of the circuit at each input row. id = serial * rows + input, so an id leads to its row.
  struct Label {
    uint64_t id = 0;
    uint32_t congestion = 0;
    std::optional<uint64_t> object = {};
  };
  std::vector<Label> labels_;
  uint64_t last_id_;
  FaultSet faults_;
  std::set<Row> broken_;
  LinkCapacity capacity_;
  Blocking blocking_;  // until the last Commit()
  Blocking now_;       // since
  std::shared_ptr<const ObjectDirectory> objects_;
  std::unordered_map<uint64_t, Row> reader_of_;
  AnsweredKeys keys_;
  std::vector<Step> log_;  // since the last Commit()
  bool withdrawn_ = false;
};

}  // namespace bfly::control
