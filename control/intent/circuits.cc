// SPDX-License-Identifier: Apache-2.0
#include "control/intent/circuits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// Whether the path crosses one of the links, which belong to at most two consecutive stages.
bool CrossesOne(const Network& network, const CircuitPath& path, const std::vector<LinkId>& links) {
  Row row = path.input;
  for (int hop = 0; hop < network.hops(); ++hop) {
    const LinkId link{network.stage_of_hop(hop), row, PortOfHop(network, path.tag, hop)};
    if (std::find(links.begin(), links.end(), link) != links.end()) return true;
    // Only a wrapped network comes to the stage a second time.
    if (link.stage == links.back().stage && !network.wrapped()) return false;
    row = network.next_row(link.stage, row, link.port);
  }
  return false;
}

}  // namespace

Circuits::Circuits(const Network& network, const FaultSet& faults, uint64_t last_id)
    : network_(network),
      faults_(faults),
      set_(network),
      labels_(network.rows()),
      last_id_(last_id) {}

std::optional<StandingCircuit> Circuits::AtInput(Row input) const {
  const CircuitPath* path = set_.AtInput(input);
  if (path == nullptr) return std::nullopt;
  StandingCircuit circuit{labels_[input].id, *path, labels_[input].congestion,
                          labels_[input].object};
  if (broken_.count(input) != 0) circuit.broken = faults_.OnPath(input, path->tag);
  return circuit;
}

std::vector<StandingCircuit> Circuits::all() const {
  std::vector<StandingCircuit> standing;
  standing.reserve(set_.size());
  for (Row input = 0; input < network_.rows(); ++input) {
    if (auto circuit = AtInput(input)) standing.push_back(*circuit);
  }
  return standing;
}

absl::StatusOr<StandingCircuit> Circuits::Find(uint64_t id) const {
  const auto circuit = AtInput(static_cast<Row>(id % network_.rows()));
  if (circuit.has_value() && circuit->id == id) return *circuit;
  return ErrorAtField(absl::StatusCode::kNotFound, "id", absl::StrCat("there is no circuit ", id));
}

absl::StatusOr<StandingCircuit> Circuits::Find(const MoveOrder& order) const {
  if (order.id == 0 && !order.input.has_value()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "id",
                        "is missing; say which circuit, by id or input");
  }
  if (!order.input.has_value()) return Find(order.id);
  const Row input = *order.input;
  if (input >= network_.rows()) return OutOfRange("input", input, 0, network_.rows() - 1);
  const std::optional<StandingCircuit> circuit = AtInput(input);
  if (order.id != 0 && (!circuit.has_value() || circuit->id != order.id)) {
    return ErrorAtField(absl::StatusCode::kNotFound, "id",
                        absl::StrCat("there is no circuit ", order.id, " at input ", input));
  }
  if (!circuit.has_value()) {
    return ErrorAtField(absl::StatusCode::kNotFound, "input",
                        absl::StrCat("there is no circuit at row ", input));
  }
  return *circuit;
}

std::vector<StandingCircuit> Circuits::HoldersOf(const std::vector<Request>& requests) const {
  std::set<Row> inputs;
  for (const Request& request : requests) {
    if (set_.AtInput(request.input) != nullptr) inputs.insert(request.input);
    const CircuitPath* at_output = set_.AtOutput(request.output);
    if (at_output != nullptr) inputs.insert(at_output->input);
  }
  std::set<Row> disks;
  for (const Request& request : requests) {
    if (set_.readers()[request.output] != 0) disks.insert(request.output);
  }
  for (Row input = 0; !disks.empty() && input < network_.rows(); ++input) {
    if (set_.IsRead(input) && disks.count(set_.AtInput(input)->output) != 0) inputs.insert(input);
  }
  std::vector<StandingCircuit> holders;
  for (Row input : inputs) holders.push_back(*AtInput(input));
  return holders;
}

std::vector<Row> Circuits::Crossing(const Fault& fault) const {
  std::vector<LinkId> links;
  for (const uint64_t index : faults_.LinksOf(fault)) links.push_back(network_.link_at(index));
  // A path through a node crosses a link of the stage before it and one of the stage after it.
  uint64_t before = 0, after = 0;
  for (const LinkId& link : links) {
    (link.stage < links.back().stage ? before : after) += load().on(link);
  }
  // On a wrapped network a path may begin or end at the node, or cross it twice. Then the last rows
  // are looked at in vain.
  const uint64_t most = network_.wrapped() ? before + after : std::max(before, after);
  std::vector<Row> crossing;
  for (Row input = 0; crossing.size() < most && input < network_.rows(); ++input) {
    const CircuitPath* path = set_.AtInput(input);
    if (path != nullptr && CrossesOne(network_, *path, links)) crossing.push_back(input);
  }
  return crossing;
}

std::vector<Row> Circuits::Readers() const {
  std::vector<Row> users;
  for (Row user = 0; user < network_.rows(); ++user) {
    if (set_.IsRead(user)) users.push_back(user);
  }
  return users;
}

void Circuits::AddBusy(absl::string_view field, const CircuitPath* holder,
                       FieldErrors& errors) const {
  if (holder == nullptr) return;
  errors.Add(field, absl::StrCat("is busy with circuit ", labels_[holder->input].id, " (",
                                 holder->input, " -> ", holder->output, "); release it first"));
}

void Circuits::AddBusyInput(absl::string_view field, Row input, FieldErrors& errors) const {
  AddBusy(field, set_.AtInput(input), errors);
}

void Circuits::AddHeldOutput(absl::string_view field, Row output, FieldErrors& errors) const {
  AddBusy(field, set_.AtOutput(output), errors);
}

void Circuits::AddBusyOutput(absl::string_view field, Row output, FieldErrors& errors) const {
  AddHeldOutput(field, output, errors);
  const uint32_t readers = set_.readers()[output];
  if (readers == 0) return;
  errors.Add(field,
             absl::StrCat(output, " is a disk with ", readers, " reads; release them first"));
}

absl::Status Circuits::CheckFree(Row input, Row output) const {
  const Row last = network_.rows() - 1;
  FieldErrors range;
  if (input > last) range.Add(OutOfRange("input", input, 0, last));
  if (output > last) range.Add(OutOfRange("output", output, 0, last));
  if (!range.empty()) return range.ToStatus();
  FieldErrors busy;
  AddBusyInput("input", input, busy);
  AddBusyOutput("output", output, busy);
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::StatusOr<StandingCircuit> Circuits::SetUp(const CircuitPath& path,
                                                std::optional<uint64_t> object, uint64_t id) {
  const uint64_t rows = network_.rows();
  const uint64_t next = (last_id_ / rows + 1) * rows + path.input;
  StandingCircuit circuit{
      .id = id != 0 ? id : next, .path = path, .congestion = 0, .object = object};
  if (absl::Status status = Put(circuit); !status.ok()) return status;
  if (id == 0) last_id_ = next;
  circuit.congestion = load().MaxOnPath(path.input, path.tag);
  labels_[path.input].congestion = circuit.congestion;
  if (object.has_value()) circuit.disk_contention = set_.readers()[path.output];
  return circuit;
}

void Circuits::SkipIds(uint64_t last_id) { last_id_ = std::max(last_id_, last_id); }

absl::Status Circuits::Put(const StandingCircuit& circuit) {
  const CircuitPath& path = circuit.path;
  absl::Status status = circuit.object.has_value() ? set_.SetUpRead(path) : set_.SetUp(path);
  if (!status.ok()) return status;
  labels_[path.input] = {circuit.id, circuit.congestion, circuit.object};
  NoteBroken(path.input);
  return absl::OkStatus();
}

void Circuits::PutUp(const StandingCircuit& circuit) { Put(circuit).IgnoreError(); }

void Circuits::TakeDown(Row input) {
  set_.Release(input).IgnoreError();
  broken_.erase(input);
}

void Circuits::NoteBroken(Row input) {
  if (faults_.empty() && broken_.empty()) return;
  const CircuitPath* path = set_.AtInput(input);
  if (path != nullptr && !faults_.IsWhole(input, path->tag)) {
    broken_.insert(input);
  } else {
    broken_.erase(input);
  }
}

}  // namespace bfly::control
