// SPDX-License-Identifier: Apache-2.0
// FabricState: which path a circuit gets, when it is set up and when it is moved.
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

// A path the caller named. INVALID_ARGUMENT names the row that is wrong.
absl::StatusOr<CircuitPath> GivenPath(const Network& network, Row input, Row output,
                                      const std::vector<Row>& rows) {
  const absl::StatusOr<Tag> tag = TagOfPath(network, rows);
  if (!tag.ok()) return tag.status();
  if (rows.front() != input) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "rows[0]",
                        absl::StrCat(rows.front(), " is not the input, ", input));
  }
  if (rows.back() != output) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument,
                        absl::StrCat("rows[", rows.size() - 1, "]"),
                        absl::StrCat(rows.back(), " is not the output, ", output));
  }
  return CircuitPath{input, output, *tag, PathChoice::kGiven};
}

}  // namespace

absl::Status NoRoom(LinkId link, uint32_t circuits, uint32_t capacity) {
  return ErrorAtField(
      absl::StatusCode::kResourceExhausted, "link",
      absl::StrCat(LinkText(link), " carries ", circuits, " circuits, its capacity is ", capacity));
}

FabricState::Forbidden::Forbidden(const FaultSet& faults, const std::vector<LinkId>& avoid)
    : faults_(faults) {
  if (avoid.empty()) return;
  own_ = faults;
  for (const LinkId& link : avoid) own_->Avoid(link);
}

absl::Status FabricState::CheckAvoid(const std::vector<LinkId>& avoid) const {
  FieldErrors errors;
  for (size_t i = 0; i < avoid.size(); ++i) {
    errors.Add(WithPrefix(network_->CheckLink(avoid[i]), absl::StrCat("avoid[", i, "]")));
  }
  return errors.ToStatus();
}

absl::Status FabricState::CheckRoom(const CircuitPath& path) const {
  const auto full = FirstFullLink(capacity_, circuits_.load(), *network_, path.input, path.tag);
  if (!full.has_value()) return absl::OkStatus();
  return NoRoom(network_->link_at(*full), circuits_.load().on_index(*full), capacity_.at(*full));
}

absl::Status FabricState::CheckPath(const CircuitPath& path, const FaultSet& faults) const {
  if (const auto link = faults.FirstOnPath(path.input, path.tag); link.has_value()) {
    return ErrorAtField(absl::StatusCode::kUnavailable, "link", faults.WhyBlocked(*link));
  }
  return CheckRoom(path);
}

absl::StatusOr<CircuitPath> FabricState::ChoosePath(const SetUpOrder& order,
                                                    const FaultSet& faults) const {
  if (!order.rows.empty()) return GivenPath(*network_, order.input, order.output, order.rows);
  const CircuitPath chosen = chooser_->Choose(circuits_.load(), order.input, order.output);
  if (!candidates_.has_value() || CheckPath(chosen, faults).ok()) return chosen;
  // The protocol's choice is blocked or broken: the other path, if that is neither.
  const bool second = chosen.choice != PathChoice::kPPrime;
  const CircuitPath other = {order.input, order.output,
                             candidates_->tag(order.input, order.output, second),
                             second ? PathChoice::kPPrime : PathChoice::kP};
  return CheckPath(other, faults).ok() ? other : chosen;
}

CircuitPath FabricState::ChooseRead(Row user, uint64_t object, const FaultSet& faults) const {
  const ObjectDirectory::Disks& at = *objects_->Find(object);
  const auto to_disk = [&](Row disk, PathChoice choice) {
    return CircuitPath{user, disk, GreedyTag(*network_, user, disk), choice};
  };
  if (at.copies != 2) return to_disk(at.disks[0], PathChoice::kGreedy);
  const CircuitPath chosen = ChooseCopy(circuits_.load(), circuits_.readers(), user, at.disks);
  if (CheckPath(chosen, faults).ok()) return chosen;
  // The protocol's choice is blocked or broken: the other copy, if the way to it is neither.
  const bool first = chosen.output == at.disks[0];
  const CircuitPath other =
      to_disk(at.disks[first ? 1 : 0], first ? PathChoice::kPPrime : PathChoice::kP);
  return CheckPath(other, faults).ok() ? other : chosen;
}

absl::StatusOr<StandingCircuit> FabricState::FindForMove(const MoveOrder& order) const {
  if (order.id == 0 && !order.input.has_value()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "id",
                        "is missing; say which circuit, by id or input");
  }
  const Row last = network_->rows() - 1;
  if (order.input.value_or(0) > last) return OutOfRange("input", *order.input, 0, last);
  const Row input = order.input.value_or(static_cast<Row>(order.id % network_->rows()));
  const std::optional<StandingCircuit> circuit = AtInput(input);
  if (order.id != 0 && (!circuit.has_value() || circuit->id != order.id)) {
    return ErrorAtField(
        absl::StatusCode::kNotFound, "id",
        absl::StrCat("there is no circuit ", order.id,
                     order.input.has_value() ? absl::StrCat(" at input ", input) : std::string()));
  }
  if (!circuit.has_value()) {
    return ErrorAtField(absl::StatusCode::kNotFound, "input",
                        absl::StrCat("there is no circuit at row ", input));
  }
  return *circuit;
}

absl::StatusOr<CircuitPath> FabricState::ChooseMove(const MoveOrder& order,
                                                    const StandingCircuit& before,
                                                    const FaultSet& faults) const {
  const auto& [input, output, tag, choice] = before.path;
  if (!order.rows.empty() && !order.protocol.empty()) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "protocol",
                        "is given and rows too; give one or the other");
  }
  if (!order.rows.empty()) return GivenPath(*network_, input, output, order.rows);
  if (before.object.has_value()) {
    if (!order.protocol.empty() && order.protocol != "minimum") {
      return ErrorAtField(absl::StatusCode::kFailedPrecondition, "protocol",
                          absl::StrCat(order.protocol, " moves no read; use minimum"));
    }
    // Where the object is not known, neither is another copy.
    if (*before.object == kUnknownObject) return before.path;
    return ChooseRead(input, *before.object, faults);
  }
  if (order.protocol.empty()) return ChoosePath({input, output, {}}, faults);
  const auto chooser =
      MakeChooser(order.protocol, *network_, {.seed = order.seed, .faults = &faults});
  if (!chooser.ok()) return chooser.status();
  return (*chooser)->Choose(circuits_.load(), input, output);
}

Outcome FabricState::Move(const MoveOrder& order) {
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  const absl::StatusOr<StandingCircuit> before = FindForMove(order);
  if (!before.ok()) return before.status();
  const Forbidden forbidden(faults_, order.avoid);
  const size_t mark = log_.size();
  // The circuit does not stand in its own way.
  Undo(before->path.input).IgnoreError();
  absl::StatusOr<CircuitPath> path = ChooseMove(order, *before, forbidden.faults());
  absl::Status status = path.status();
  if (status.ok()) status = CheckPath(*path, forbidden.faults());
  StandingCircuit circuit;
  const bool same = status.ok() && path->tag == before->path.tag;
  if (status.ok() && !same) status = Stand(*path, before->object, before->id, &circuit);
  if (!status.ok() || same) RollBackTo(mark);
  if (!status.ok()) return status;
  return same ? *before : circuit;
}

}  // namespace bfly::control
