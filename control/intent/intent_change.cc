// SPDX-License-Identifier: Apache-2.0
#include "control/intent/intent_change.h"

#include <algorithm>

namespace bfly::control {

std::vector<Row> IntentChange::inputs() const {
  std::vector<Row> touched;
  for (const IntentEdit& edit : edits_) {
    const auto* of_circuit = std::get_if<CircuitEdit>(&edit);
    if (of_circuit != nullptr) touched.push_back(of_circuit->circuit.path.input);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

PlacedRecords IntentChange::placed() const {
  PlacedRecords placed;
  for (const IntentEdit& edit : edits_) {
    const auto* placement = std::get_if<PlaceEdit>(&edit);
    if (placement == nullptr) continue;
    if (placement->replaces) placed = {.records = {}, .replaces = true};
    placed.records.push_back(placement->record);
  }
  return placed;
}

}  // namespace bfly::control
