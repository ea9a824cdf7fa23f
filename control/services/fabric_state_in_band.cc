// SPDX-License-Identifier: Apache-2.0
// FabricState: orders that the data plane carries out by itself, and what it did.
#include "absl/strings/str_cat.h"
#include "control/services/fabric_state.h"

namespace bfly::control {

absl::Status FabricState::CheckInBand(const InBandOrder& order) const {
  if (order.release.has_value()) {
    const Row input = static_cast<Row>(*order.release % network_->rows());
    const auto circuit = AtInput(input);
    if (circuit.has_value() && circuit->id == *order.release) return absl::OkStatus();
    return ErrorAtField(absl::StatusCode::kNotFound, "id",
                        absl::StrCat("there is no circuit ", *order.release));
  }
  const auto at = [&](absl::string_view one, absl::string_view many, size_t i) {
    return order.single ? std::string(one) : absl::StrCat(many, "[", i, "]");
  };
  const Row last = network_->rows() - 1;
  if (capacity_.limited() && !order.requests.empty()) {
    return absl::FailedPreconditionError(
        "in_band: links of this fabric have a circuit capacity, which probes do not know; set up "
        "through the controller instead");
  }
  FieldErrors wrong;
  FieldErrors busy;
  std::vector<bool> input_used(network_->rows()), output_used(network_->rows());
  for (size_t i = 0; i < order.requests.size(); ++i) {
    const auto check = [&](const std::string& field, Row row, std::vector<bool>& used,
                           const CircuitPath* holder) {
      if (row > last) {
        wrong.Add(OutOfRange(field, row, 0, last));
        return;
      }
      if (used[row]) wrong.Add(field, absl::StrCat("row ", row, " is used twice"));
      used[row] = true;
      if (!order.replace) AddBusy(field, holder, busy);
    };
    const auto& [input, output] = order.requests[i];
    check(at("input", "inputs", i), input, input_used, circuits_.AtInput(input));
    check(at("output", "outputs", i), output, output_used, circuits_.AtOutput(output));
  }
  if (!wrong.empty()) return wrong.ToStatus();
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

std::vector<Row> FabricState::ReleasedBy(const InBandOrder& order) const {
  if (order.release.has_value()) return {static_cast<Row>(*order.release % network_->rows())};
  std::vector<Row> inputs;
  if (!order.replace) return inputs;
  for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
    inputs.push_back(circuit.path.input);
  }
  return inputs;
}

absl::Status FabricState::Learn(const std::vector<Row>& released, RouteResult& route,
                                std::vector<StandingCircuit>* circuits) {
  for (const Row input : released) {
    const auto circuit = AtInput(input);
    if (!circuit.has_value()) return absl::InternalError(absl::StrCat("no circuit at ", input));
    if (Outcome done = Release({circuit->id}); !done.ok()) return done.status();
    if (route.paths.empty()) circuits->push_back(*circuit);
  }
  if (route.paths.empty()) return absl::OkStatus();
  for (const CircuitPath& path : route.paths) {
    route.buddies.push_back(candidates_->tags(path.input, path.output));
  }
  MeasureCongestion(*network_, circuits_.size() == 0 ? nullptr : &circuits_.load(), route);
  for (const CircuitPath& path : route.paths) {
    StandingCircuit circuit;
    if (absl::Status status = Put(path, std::nullopt, &circuit); !status.ok()) return status;
    circuits->push_back(circuit);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
