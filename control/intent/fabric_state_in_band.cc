// SPDX-License-Identifier: Apache-2.0
// FabricState: orders that the data plane carries out by itself, and what it did.
#include "absl/strings/str_cat.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"

namespace bfly::control {

absl::Status FabricState::CheckInBand(const InBandOrder& order) const {
  if (order.stop_reading.has_value()) return CheckStopReading(*order.stop_reading);
  if (order.release.has_value()) {
    const Row input = static_cast<Row>(*order.release % network_->rows());
    const auto circuit = AtInput(input);
    if (circuit.has_value() && circuit->id == *order.release) return absl::OkStatus();
    return ErrorAtField(absl::StatusCode::kNotFound, "id",
                        absl::StrCat("there is no circuit ", *order.release));
  }
  return order.reads.has_value() ? CheckReadsInBand(order) : CheckCircuitsInBand(order);
}

absl::Status FabricState::CheckReadsInBand(const InBandOrder& order) const {
  const ReadBatchOrder& reads = *order.reads;
  absl::Status status = CheckDataServer();
  if (status.ok()) {
    status = order.single ? CheckRead(reads.users[0], reads.objects[0]) : CheckReads(reads);
  }
  if (!status.ok()) return status;
  // Output nodes count what ends at a disk, and do not tell who has it for itself.
  FieldErrors held;
  for (size_t i = 0; i < reads.objects.size(); ++i) {
    const ObjectDirectory::Disks& at = *objects_->Find(reads.objects[i]);
    for (int copy = 0; copy < at.copies; ++copy) {
      AddBusy(order.single ? "object" : absl::StrCat("objects[", i, "]"),
              circuits_.AtOutput(at.disks[copy]), held);
    }
  }
  return held.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status FabricState::CheckCircuitsInBand(const InBandOrder& order) const {
  const auto at = [&](absl::string_view one, absl::string_view many, size_t i) {
    return order.single ? std::string(one) : absl::StrCat(many, "[", i, "]");
  };
  const Row last = network_->rows() - 1;
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
  if (order.stop_reading.has_value()) return {*order.stop_reading};
  if (order.release.has_value()) return {static_cast<Row>(*order.release % network_->rows())};
  std::vector<Row> inputs;
  if (!order.replace) return inputs;
  for (const StandingCircuit& circuit : HoldersOf(order.requests)) {
    inputs.push_back(circuit.path.input);
  }
  return inputs;
}

absl::Status FabricState::LearnRefusal(const InBandOrder& order, uint32_t request, LinkId link,
                                       bool down, uint32_t circuits, uint32_t capacity) {
  // Those before it could be set up, and were taken back.
  now_.asked += request + 1;
  now_.blocked += !down;
  const absl::Status status =
      down ? ErrorAtField(absl::StatusCode::kUnavailable, "link", faults_.WhyBlocked(link))
           : NoRoom(link, circuits, capacity);
  if (order.single) return status;
  return WithPrefix(status,
                    absl::StrCat(order.reads.has_value() ? "users[" : "paths[", request, "]"));
}

absl::Status FabricState::Learn(const InBandOrder& order, RouteResult& route,
                                std::vector<StandingCircuit>* circuits) {
  for (const Row input : ReleasedBy(order)) {
    const auto circuit = AtInput(input);
    if (!circuit.has_value()) return absl::InternalError(absl::StrCat("no circuit at ", input));
    if (Outcome done = Release({circuit->id}); !done.ok()) return done.status();
    if (route.paths.empty()) circuits->push_back(*circuit);
  }
  if (route.paths.empty()) return absl::OkStatus();
  for (size_t i = 0; i < route.paths.size(); ++i) {
    const CircuitPath& path = route.paths[i];
    if (!order.reads.has_value()) {
      route.buddies.push_back(candidates_->tags(path.input, path.output));
    } else if (path.choice != PathChoice::kGreedy) {
      const ObjectDirectory::Disks& at = *objects_->Find(order.reads->objects[i]);
      route.buddies.push_back({Tag{at.disks[0]}, Tag{at.disks[1]}});
    }
  }
  MeasureCongestion(*network_, circuits_.size() == 0 ? nullptr : &circuits_.load(), route);
  for (size_t i = 0; i < route.paths.size(); ++i) {
    std::optional<uint64_t> object;
    if (order.reads.has_value()) object = order.reads->objects[i];
    StandingCircuit circuit;
    if (absl::Status status = Put(route.paths[i], object, faults_, &circuit); !status.ok()) {
      return status;
    }
    circuits->push_back(circuit);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
