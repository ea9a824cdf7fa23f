// SPDX-License-Identifier: Apache-2.0
// The circuits that stand on a fabric: their ids, the load they put on links, and which of them are
// broken. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/intent/order.h"
#include "control/protocols/circuit_set.h"
#include "control/status/field_errors.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly::control {

class Circuits {
 public:
  // Circuit ids begin above `last_id`. A circuit that crosses one of `faults` is broken. `network`
  // and `faults` must outlive the object.
  Circuits(const Network& network, const FaultSet& faults, uint64_t last_id);

  size_t size() const { return set_.size(); }
  uint64_t last_id() const { return last_id_; }
  const CircuitSet& set() const { return set_; }
  const LinkLoad& load() const { return set_.load(); }
  // Returns the inputs of the circuits that cross a link that is down.
  const std::set<Row>& broken() const { return broken_; }
  // Returns nothing if no circuit begins at this input.
  std::optional<StandingCircuit> AtInput(Row input) const;
  std::vector<StandingCircuit> all() const;  // by input
  // NOT_FOUND names "id".
  absl::StatusOr<StandingCircuit> Find(uint64_t id) const;
  absl::StatusOr<StandingCircuit> Find(const MoveOrder& order) const;
  // Returns the circuits that begin or end at these inputs and outputs, each once, by input.
  std::vector<StandingCircuit> HoldersOf(const std::vector<Request>& requests) const;
  // Returns the inputs of the circuits that cross the link, or a link of the node, in ascending
  // order.
  std::vector<Row> Crossing(const Fault& fault) const;
  // Returns the users that read something, in ascending order.
  std::vector<Row> Readers() const;

  // INVALID_ARGUMENT or FAILED_PRECONDITION name "input" and "output".
  absl::Status CheckFree(Row input, Row output) const;
  // Adds an error at `field` if a circuit holds the input, or the output.
  void AddBusyInput(absl::string_view field, Row input, FieldErrors& errors) const;
  void AddHeldOutput(absl::string_view field, Row output, FieldErrors& errors) const;
  // Adds the same error, and one if somebody reads the disk at the output.
  void AddBusyOutput(absl::string_view field, Row output, FieldErrors& errors) const;

  // Sets up a new circuit over this path. A circuit with an `object` is a read of it. With `id` 0
  // the circuit gets the next id. After an error nothing has changed.
  absl::StatusOr<StandingCircuit> SetUp(const CircuitPath& path, std::optional<uint64_t> object,
                                        uint64_t id = 0);
  // Ids up to this one were given by somebody else, and are not given again.
  void SkipIds(uint64_t last_id);
  // PutUp puts up a circuit that stood before, or that TakeDown took down. Its ends must be free.
  void PutUp(const StandingCircuit& circuit);
  void TakeDown(Row input);
  // Finds out anew whether the circuit at this input is broken. Its links may have gone down or
  // come back.
  void NoteBroken(Row input);

 private:
  absl::Status Put(const StandingCircuit& circuit);
  void AddBusy(absl::string_view field, const CircuitPath* holder, FieldErrors& errors) const;

  // What the circuit at each input row has. id = serial * rows + input, so an id leads to its row.
  struct Label {
    uint64_t id = 0;
    uint32_t congestion = 0;
    std::optional<uint64_t> object = {};
  };
  const Network& network_;
  const FaultSet& faults_;
  CircuitSet set_;
  std::vector<Label> labels_;
  uint64_t last_id_;
  std::set<Row> broken_;
};

}  // namespace bfly::control
