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
  // Ids begin above `last_id`. `network` and `faults`, by which circuits are broken, must outlive
  // the object.
  Circuits(const Network& network, const FaultSet& faults, uint64_t last_id);

  size_t size() const { return set_.size(); }
  uint64_t last_id() const { return last_id_; }
  const CircuitSet& set() const { return set_; }
  const LinkLoad& load() const { return set_.load(); }
  // Inputs of the circuits that cross a link that is down.
  const std::set<Row>& broken() const { return broken_; }
  // Returns nothing if no circuit begins at this input.
  std::optional<StandingCircuit> AtInput(Row input) const;
  std::vector<StandingCircuit> all() const;  // by input
  // NOT_FOUND names "id".
  absl::StatusOr<StandingCircuit> Find(uint64_t id) const;
  absl::StatusOr<StandingCircuit> Find(const MoveOrder& order) const;
  // Circuits at these inputs and outputs, each once, by input.
  std::vector<StandingCircuit> HoldersOf(const std::vector<Request>& requests) const;
  // Inputs of the circuits that cross the link, or a link of the node, ascending.
  std::vector<Row> Crossing(const Fault& fault) const;
  // Users that read something, ascending.
  std::vector<Row> Readers() const;

  // INVALID_ARGUMENT or FAILED_PRECONDITION name "input" and "output".
  absl::Status CheckFree(Row input, Row output) const;
  // An error at `field` if the input, or the output, is held by a circuit.
  void AddBusyInput(absl::string_view field, Row input, FieldErrors& errors) const;
  void AddHeldOutput(absl::string_view field, Row output, FieldErrors& errors) const;
  // The same, and an error if the output is a disk that is read.
  void AddBusyOutput(absl::string_view field, Row output, FieldErrors& errors) const;

  // A new circuit over this path; with `object` a read. `id`: 0 for the next one. After an error
  // nothing has changed.
  absl::StatusOr<StandingCircuit> SetUp(const CircuitPath& path, std::optional<uint64_t> object,
                                        uint64_t id = 0);
  // Ids up to this one were given.
  void SkipIds(uint64_t last_id);
  // One that stood before, or that TakeDown took down. Its ends are free.
  void PutUp(const StandingCircuit& circuit);
  void TakeDown(Row input);
  // Links of the circuit at this input may have gone down or come back.
  void NoteBroken(Row input);

 private:
  absl::Status Put(const StandingCircuit& circuit);
  void AddBusy(absl::string_view field, const CircuitPath* holder, FieldErrors& errors) const;

  // Of the circuit at each input row. id = serial * rows + input, so an id leads to its row.
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
