// SPDX-License-Identifier: Apache-2.0
// What orders change in the intent of a fabric. FabricState applies and undoes a change as one; the
// controller stores it, pushes it to the data plane and tells it to those who watch.
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

// The records of placements, in order. With `replaces` they take the place of all earlier records.
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
  std::string record;
  bool replaces;
  std::vector<Placement> objects = {};                       // unless it replaces
  std::shared_ptr<ObjectDirectory> before = {}, after = {};  // if it replaces
};
// The answer of a key is kept.
struct KeyEdit {};
using IntentEdit = std::variant<CircuitEdit, PlaceEdit, KeyEdit>;

// The edits of a change, in the order in which they were made.
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

  // Returns the input rows whose circuit was put up or taken down, each once, in ascending order.
  std::vector<Row> inputs() const;
  // Returns what the store must keep: if a placement replaces all earlier ones, the records from it
  // on.
  PlacedRecords placed() const;

 private:
  std::vector<IntentEdit> edits_;
};

}  // namespace bfly::control
