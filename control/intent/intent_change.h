// SPDX-License-Identifier: Apache-2.0
// What orders change in the intent of a fabric, as one: it is applied and undone by FabricState,
// stored, pushed to the data plane and told to those who watch by the controller.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "control/intent/order.h"
#include "control/protocols/object_directory.h"

namespace bfly::control {

// The circuits that stand now at the input rows of a change, and the rows where none does.
struct CircuitChange {
  std::vector<StandingCircuit> install;
  std::vector<Row> remove;
  bool empty() const { return install.empty() && remove.empty(); }
};

// The records of placements, in order. With `replaces` they are in place of all before.
struct PlacedRecords {
  std::vector<std::string> records;
  bool replaces = false;
};

// One thing that an order changed, with what is needed to undo it and to apply it again.
struct CircuitEdit {
  StandingCircuit circuit;
  bool stands;  // it is put up; otherwise taken down
};
struct PlaceEdit {
  std::shared_ptr<const ObjectDirectory> before, after;
  std::string record;
  bool replaces;
};
// An answer is kept by its key.
struct KeyEdit {};
using IntentEdit = std::variant<CircuitEdit, PlaceEdit, KeyEdit>;

// In the order they were made.
class IntentChange {
 public:
  void Add(IntentEdit edit) { edits_.push_back(std::move(edit)); }
  size_t size() const { return edits_.size(); }
  bool empty() const { return edits_.empty(); }
  const std::vector<IntentEdit>& edits() const { return edits_; }
  IntentEdit TakeLast() {
    IntentEdit last = std::move(edits_.back());
    edits_.pop_back();
    return last;
  }
  void Clear() { edits_.clear(); }

  // Input rows whose circuit was put up or taken down, each once, ascending.
  std::vector<Row> inputs() const;
  // For the store: of a placement that replaces all before, and those after it, if there is one.
  PlacedRecords placed() const;

 private:
  std::vector<IntentEdit> edits_;
};

}  // namespace bfly::control
