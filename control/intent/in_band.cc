// SPDX-License-Identifier: Apache-2.0
#include "control/intent/in_band.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/order_text.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

absl::Status CheckReadsInBand(const FabricState& state, const InBandOrder& order) {
  const ReadBatchOrder& reads = *order.reads;
  const Objects& objects = state.data_server();
  absl::Status status = objects.CheckDataServer();
  if (status.ok()) {
    status = order.single ? objects.CheckRead(reads.users[0], reads.objects[0])
                          : objects.CheckReads(reads);
  }
  if (!status.ok()) return status;
  // Output nodes count the paths that end at a disk, and do not tell who has the disk alone.
  FieldErrors held;
  for (size_t i = 0; i < reads.objects.size(); ++i) {
    const ObjectDirectory::Disks& at = *state.objects().Find(reads.objects[i]);
    for (int copy = 0; copy < at.copies; ++copy) {
      state.standing().AddHeldOutput(order.single ? "object" : absl::StrCat("objects[", i, "]"),
                                     at.disks[copy], held);
    }
  }
  return held.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status CheckCircuitsInBand(const FabricState& state, const InBandOrder& order) {
  const auto at = [&](absl::string_view one, absl::string_view many, size_t i) {
    return order.single ? std::string(one) : absl::StrCat(many, "[", i, "]");
  };
  const Circuits& circuits = state.standing();
  const Row rows = state.network().rows();
  const Row last = rows - 1;
  FieldErrors wrong;
  FieldErrors busy;
  std::vector<bool> input_used(rows), output_used(rows);
  for (size_t i = 0; i < order.requests.size(); ++i) {
    const auto check = [&](const std::string& field, Row row, std::vector<bool>& used,
                           auto add_busy) {
      if (row > last) {
        wrong.Add(OutOfRange(field, row, 0, last));
        return;
      }
      if (used[row]) wrong.Add(field, absl::StrCat("row ", row, " is used twice"));
      used[row] = true;
      if (!order.replace) (circuits.*add_busy)(field, row, busy);
    };
    const auto& [input, output] = order.requests[i];
    check(at("input", "inputs", i), input, input_used, &Circuits::AddBusyInput);
    check(at("output", "outputs", i), output, output_used, &Circuits::AddHeldOutput);
  }
  if (!wrong.empty()) return wrong.ToStatus();
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

}  // namespace

absl::Status CheckInBand(const FabricState& state, const InBandOrder& order) {
  if (order.stop_reading.has_value()) {
    return state.data_server().CheckStopReading(*order.stop_reading);
  }
  if (order.release.has_value()) return state.standing().Find(*order.release).status();
  return order.reads.has_value() ? CheckReadsInBand(state, order)
                                 : CheckCircuitsInBand(state, order);
}

std::vector<Row> ReleasedBy(const FabricState& state, const InBandOrder& order) {
  if (order.stop_reading.has_value()) return {*order.stop_reading};
  if (order.release.has_value()) return {static_cast<Row>(*order.release % state.network().rows())};
  std::vector<Row> inputs;
  if (!order.replace) return inputs;
  for (const StandingCircuit& circuit : state.standing().HoldersOf(order.requests)) {
    inputs.push_back(circuit.path.input);
  }
  return inputs;
}

absl::Status LearnRefusal(FabricState& state, const InBandOrder& order,
                          const InBandRefusal& refusal) {
  // The requests before it could be set up, and were taken back.
  state.Count({.asked = refusal.request + 1, .blocked = refusal.down ? 0u : 1u});
  const absl::Status status = refusal.down
                                  ? ErrorAtField(absl::StatusCode::kUnavailable, "link",
                                                 state.faults().WhyBlocked(refusal.link))
                                  : NoRoom(refusal.link, refusal.circuits, refusal.capacity);
  if (order.single) return status;
  return WithPrefix(
      status, absl::StrCat(order.reads.has_value() ? "users[" : "paths[", refusal.request, "]"));
}

absl::Status Learn(FabricState& state, const InBandOrder& order, RouteResult& route,
                   std::vector<StandingCircuit>* circuits) {
  for (const Row input : ReleasedBy(state, order)) {
    if (!state.AtInput(input).has_value()) {
      return absl::InternalError(absl::StrCat("no circuit at ", input));
    }
    const StandingCircuit circuit = state.Release(input);
    if (route.paths.empty()) circuits->push_back(circuit);
  }
  if (route.paths.empty()) return absl::OkStatus();
  for (size_t i = 0; i < route.paths.size(); ++i) {
    const CircuitPath& path = route.paths[i];
    if (!order.reads.has_value()) {
      route.buddies.push_back(state.planner().candidates()->tags(path.input, path.output));
    } else if (path.choice != PathChoice::kGreedy) {
      const ObjectDirectory::Disks& at = *state.objects().Find(order.reads->objects[i]);
      route.buddies.push_back({Tag{at.disks[0]}, Tag{at.disks[1]}});
    }
  }
  MeasureCongestion(state.network(), state.size() == 0 ? nullptr : &state.load(), route);
  for (size_t i = 0; i < route.paths.size(); ++i) {
    std::optional<uint64_t> object;
    if (order.reads.has_value()) object = order.reads->objects[i];
    const auto circuit = state.Put(route.paths[i], object, state.faults());
    if (!circuit.ok()) return circuit.status();
    circuits->push_back(*circuit);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const InBandOutcome>> FindInBand(const FabricState& state,
                                                                const InBandOrder& order,
                                                                const std::string& key) {
  if (key.empty()) return nullptr;
  const auto known = state.keys().Find(key, TextOf(order));
  if (!known.ok()) return known.status();
  if (*known == nullptr) return nullptr;
  return std::get<std::shared_ptr<const InBandOutcome>>(**known);
}

void RememberInBand(FabricState& state, const InBandOrder& order, const std::string& key,
                    const InBandOutcome& outcome) {
  state.Remember(key, TextOf(order), std::make_shared<const InBandOutcome>(outcome));
}

}  // namespace bfly::control
