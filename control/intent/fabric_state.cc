// SPDX-License-Identifier: Apache-2.0
#include "control/intent/fabric_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"
#include "topologies/link_text.h"

namespace bfly::control {
namespace {

// Orders of a batch between two looks at the interrupt.
constexpr size_t kInterruptStep = 256;

// What makes two requests the same; each with a letter of its own, so that kinds never meet.
std::string TextOf(const Order& order) {
  if (const auto* release = std::get_if<ReleaseOrder>(&order.what)) {
    return absl::StrCat("release ", release->id);
  }
  if (const auto* read = std::get_if<ReadOrder>(&order.what)) {
    return absl::StrCat("read ", read->user, " ", read->object, " ", LinkText(read->avoid));
  }
  if (const auto* stop = std::get_if<StopReadingOrder>(&order.what)) {
    return absl::StrCat("stop_reading ", stop->user);
  }
  if (const auto* move = std::get_if<MoveOrder>(&order.what)) {
    return absl::StrCat("move ", move->id, " ", move->input.has_value(), move->input.value_or(0),
                        " ", move->protocol, " ", move->seed, " ", absl::StrJoin(move->rows, ","),
                        " ", LinkText(move->avoid));
  }
  const auto& set_up = std::get<SetUpOrder>(order.what);
  return absl::StrCat("set_up ", set_up.input, " ", set_up.output, " ",
                      absl::StrJoin(set_up.rows, ","), " ", LinkText(set_up.avoid));
}

std::string TextOf(const std::vector<Order>& orders) {
  return absl::StrCat("batch ", absl::StrJoin(orders, ";", [](std::string* out, const Order& o) {
                        out->append(TextOf(o));
                      }));
}

// BB_n has the minimum protocol; a network of one path has no choice to make.
std::unique_ptr<PathChooser> ChooserFor(const Network& network) {
  auto minimum = MakeChooser("minimum", network);
  if (minimum.ok()) return *std::move(minimum);
  return *MakeChooser("greedy", network);
}

std::optional<CandidatePaths> CandidatesOf(const Network& network) {
  const auto settings = SwitchSettings::Make(network);
  if (!settings.ok()) return std::nullopt;
  return CandidatePaths(*settings);
}

}  // namespace

FabricState::FabricState(std::shared_ptr<const Network> network, uint64_t last_id,
                         LinkCapacity capacity)
    : network_(std::move(network)),
      circuits_(*network_),
      chooser_(ChooserFor(*network_)),
      candidates_(CandidatesOf(*network_)),
      labels_(network_->rows()),
      last_id_(last_id),
      faults_(*network_),
      capacity_(std::move(capacity)),
      objects_(std::make_shared<ObjectDirectory>(network_->rows())) {}

uint64_t FabricState::NextId(Row input) {
  const uint64_t rows = network_->rows();
  last_id_ = (last_id_ / rows + 1) * rows + input;
  return last_id_;
}

Outcome FabricState::Execute(const Order& order) {
  std::string request;
  if (!order.key.empty()) {
    request = TextOf(order);
    auto known = keys_.Find(order.key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<StandingCircuit>(**known);
  }
  struct {
    FabricState& state;
    Outcome operator()(const SetUpOrder& what) const { return state.SetUp(what); }
    Outcome operator()(const ReleaseOrder& what) const { return state.Release(what); }
    Outcome operator()(const MoveOrder& what) const { return state.Move(what); }
    Outcome operator()(const ReadOrder& what) const { return state.Read(what); }
    Outcome operator()(const StopReadingOrder& what) const { return state.StopReading(what.user); }
  } const execute{*this};
  Outcome outcome = std::visit(execute, order.what);
  if (outcome.ok() && !order.key.empty()) Remember(order.key, request, *outcome);
  return outcome;
}

absl::StatusOr<std::vector<Outcome>> FabricState::ExecuteBatch(const std::vector<Order>& orders,
                                                               bool all_or_nothing,
                                                               const std::string& key,
                                                               const Interrupt& interrupt) {
  std::string request;
  if (!key.empty()) {
    request = absl::StrCat(all_or_nothing, TextOf(orders));
    auto known = keys_.Find(key, request);
    if (!known.ok()) return known.status();
    if (*known != nullptr) return std::get<std::vector<Outcome>>(**known);
  }
  const size_t mark = log_.size();
  std::vector<Outcome> outcomes;
  outcomes.reserve(orders.size());
  const auto interrupted = [&interrupt] { return interrupt ? interrupt() : absl::OkStatus(); };
  for (size_t i = 0; i < orders.size(); ++i) {
    if (i % kInterruptStep == 0) {
      const absl::Status status = interrupted();
      if (!status.ok() && !all_or_nothing) {
        outcomes.resize(orders.size(), status);
        break;
      }
      if (!status.ok()) {
        RollBackTo(mark);
        return status;
      }
    }
    outcomes.push_back(Execute(orders[i]));
    if (outcomes.back().ok() || !all_or_nothing) continue;
    RollBackTo(mark);
    const absl::Status& failed = outcomes.back().status();
    const bool is_read = std::holds_alternative<ReadOrder>(orders[i].what) ||
                         std::holds_alternative<StopReadingOrder>(orders[i].what);
    return is_read ? AsOneOfMany(failed, i) : WithPrefix(failed, absl::StrCat("requests[", i, "]"));
  }
  if (const absl::Status status = interrupted(); all_or_nothing && !status.ok()) {
    RollBackTo(mark);
    return status;
  }
  if (!key.empty()) Remember(key, request, outcomes);
  return outcomes;
}

void FabricState::AddBusy(absl::string_view field, const CircuitPath* holder,
                          FieldErrors& errors) const {
  if (holder == nullptr) return;
  errors.Add(field, absl::StrCat("is busy with circuit ", labels_[holder->input].id, " (",
                                 holder->input, " -> ", holder->output, "); release it first"));
}

void FabricState::AddBusyOutput(absl::string_view field, Row output, FieldErrors& errors) const {
  AddBusy(field, circuits_.AtOutput(output), errors);
  const uint32_t readers = circuits_.readers()[output];
  if (readers == 0) return;
  errors.Add(field,
             absl::StrCat(output, " is a disk with ", readers, " reads; release them first"));
}

absl::Status FabricState::CheckFree(const SetUpOrder& order) const {
  const Row last = network_->rows() - 1;
  FieldErrors range;
  if (order.input > last) range.Add(OutOfRange("input", order.input, 0, last));
  if (order.output > last) range.Add(OutOfRange("output", order.output, 0, last));
  if (!range.empty()) return range.ToStatus();
  FieldErrors busy;
  AddBusy("input", circuits_.AtInput(order.input), busy);
  AddBusyOutput("output", order.output, busy);
  return busy.ToStatus(absl::StatusCode::kFailedPrecondition);
}

absl::Status FabricState::Put(const CircuitPath& path, std::optional<uint64_t> object,
                              const FaultSet& faults, StandingCircuit* circuit) {
  if (!object.has_value()) {
    if (absl::Status status = CheckFree({path.input, path.output, {}}); !status.ok()) return status;
  }
  ++now_.asked;
  if (absl::Status status = CheckPath(path, faults); !status.ok()) {
    now_.blocked += absl::IsResourceExhausted(status);
    return status;
  }
  return Stand(path, object, 0, circuit);
}

absl::Status FabricState::Stand(const CircuitPath& path, std::optional<uint64_t> object,
                                uint64_t id, StandingCircuit* circuit) {
  const absl::Status status =
      object.has_value() ? circuits_.SetUpRead(path) : circuits_.SetUp(path);
  if (!status.ok()) return status;
  *circuit = {id != 0 ? id : NextId(path.input), path,
              circuits_.load().MaxOnPath(path.input, path.tag), object};
  if (object.has_value()) circuit->disk_contention = circuits_.readers()[path.output];
  labels_[path.input] = {circuit->id, circuit->congestion, object};
  if (object.has_value() && *object != kUnknownObject) reader_of_[*object] = path.input;
  log_.push_back({Step::Kind::kSetUp, *circuit, nullptr});
  NoteBroken(path.input);
  return absl::OkStatus();
}

Outcome FabricState::SetUp(const SetUpOrder& order) {
  if (absl::Status status = CheckAvoid(order.avoid); !status.ok()) return status;
  if (absl::Status status = CheckFree(order); !status.ok()) return status;
  const Forbidden forbidden(faults_, order.avoid);
  const absl::StatusOr<CircuitPath> path = ChoosePath(order, forbidden.faults());
  if (!path.ok()) return path.status();
  StandingCircuit circuit;
  const absl::Status status = Put(*path, std::nullopt, forbidden.faults(), &circuit);
  if (!status.ok()) return status;
  return circuit;
}

Outcome FabricState::Release(const ReleaseOrder& order) {
  const Row input = static_cast<Row>(order.id % network_->rows());
  const std::optional<StandingCircuit> circuit = AtInput(input);
  if (!circuit.has_value() || circuit->id != order.id) {
    return ErrorAtField(absl::StatusCode::kNotFound, "id",
                        absl::StrCat("there is no circuit ", order.id));
  }
  return Undo(input);
}

// Releases the circuit at `input`, which must stand.
Outcome FabricState::Undo(Row input) {
  const StandingCircuit circuit = *AtInput(input);
  TakeDown(circuit);
  log_.push_back({Step::Kind::kRelease, circuit, nullptr});
  return circuit;
}

absl::Status FabricState::Adopt(Row input, Tag tag, uint64_t id, std::optional<uint64_t> object) {
  if (input >= network_->rows()) return OutOfRange("input", input, 0, network_->rows() - 1);
  const Row output = OutputOfTag(*network_, tag);
  CircuitPath path{input, output, tag, PathChoice::kGiven};
  if (candidates_.has_value()) {
    if (candidates_->tag(input, output, 1) == tag) path.choice = PathChoice::kPPrime;
    if (candidates_->tag(input, output, 0) == tag) path.choice = PathChoice::kP;
  } else if (GreedyTag(*network_, input, output) == tag) {
    path.choice = PathChoice::kGreedy;
  }
  if (object.has_value()) {
    const ObjectDirectory::Disks* at = objects_->Find(*object);
    // A read goes on whatever became of its object.
    if (at == nullptr || reader_of_.count(*object) != 0) object = kUnknownObject;
    if (at != nullptr && at->copies == 2) {
      path.choice = output == at->disks[0] ? PathChoice::kP : PathChoice::kPPrime;
    }
  }
  // A circuit stands whether its links are up or not.
  absl::Status status = CheckRoom(path);
  if (status.ok() && !object.has_value()) status = CheckFree({input, output, {}});
  StandingCircuit circuit;
  if (status.ok()) status = Stand(path, object, 0, &circuit);
  if (!status.ok()) return status;
  if (id != 0 && id % network_->rows() == input) {
    labels_[input].id = id;
    last_id_ = std::max(last_id_, id);
  }
  log_.clear();
  now_ = {};
  return absl::OkStatus();
}

std::optional<StandingCircuit> FabricState::AtInput(Row input) const {
  const CircuitPath* path = circuits_.AtInput(input);
  if (path == nullptr) return std::nullopt;
  StandingCircuit circuit{labels_[input].id, *path, labels_[input].congestion,
                          labels_[input].object};
  if (broken_.count(input) != 0) circuit.broken = faults_.OnPath(input, path->tag);
  return circuit;
}

std::vector<StandingCircuit> FabricState::circuits() const {
  std::vector<StandingCircuit> standing;
  standing.reserve(circuits_.size());
  for (Row input = 0; input < network_->rows(); ++input) {
    if (auto circuit = AtInput(input)) standing.push_back(*circuit);
  }
  return standing;
}

FabricState::Placed FabricState::placed() const {
  Placed placed;
  for (const Step& step : log_) {
    if (step.kind != Step::Kind::kPlace) continue;
    if (step.replaces) placed = {.records = {}, .replaces = true};
    placed.records.push_back(step.record);
  }
  return placed;
}

FabricState::Change FabricState::change() const {
  std::vector<Row> touched;
  for (const Step& step : log_) {
    if (step.kind == Step::Kind::kSetUp || step.kind == Step::Kind::kRelease)
      touched.push_back(step.circuit.path.input);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  Change change;
  for (Row input : touched) {
    if (auto circuit = AtInput(input)) {
      change.install.push_back(*circuit);
    } else {
      change.remove.push_back(input);
    }
  }
  return change;
}

void FabricState::PutUp(const StandingCircuit& circuit) {
  const Row input = circuit.path.input;
  (circuit.object.has_value() ? circuits_.SetUpRead(circuit.path) : circuits_.SetUp(circuit.path))
      .IgnoreError();
  labels_[input] = {circuit.id, circuit.congestion, circuit.object};
  if (circuit.object.has_value() && *circuit.object != kUnknownObject) {
    reader_of_[*circuit.object] = input;
  }
  NoteBroken(input);
}

void FabricState::TakeDown(const StandingCircuit& circuit) {
  circuits_.Release(circuit.path.input).IgnoreError();
  if (circuit.object.has_value()) reader_of_.erase(*circuit.object);
  broken_.erase(circuit.path.input);
}

void FabricState::Withdraw() {
  if (std::exchange(withdrawn_, true)) return;
  for (auto step = log_.rbegin(); step != log_.rend(); ++step) {
    if (step->kind == Step::Kind::kSetUp) TakeDown(step->circuit);
    if (step->kind == Step::Kind::kRelease) PutUp(step->circuit);
    if (step->kind == Step::Kind::kPlace) std::swap(objects_, step->objects);
  }
}

void FabricState::Commit() {
  if (std::exchange(withdrawn_, false)) {
    for (Step& step : log_) {
      if (step.kind == Step::Kind::kSetUp) PutUp(step.circuit);
      if (step.kind == Step::Kind::kRelease) TakeDown(step.circuit);
      if (step.kind == Step::Kind::kPlace) std::swap(objects_, step.objects);
    }
  }
  log_.clear();
  keys_.Commit();
  blocking_.asked += now_.asked;
  blocking_.blocked += now_.blocked;
  now_ = {};
}

void FabricState::RollBack() {
  Withdraw();
  withdrawn_ = false;
  log_.clear();
  keys_.RollBack();
  now_ = {};
}

void FabricState::RollBackTo(size_t mark) {
  while (log_.size() > mark) {
    const Step step = std::move(log_.back());
    log_.pop_back();
    switch (step.kind) {
      case Step::Kind::kSetUp:
        TakeDown(step.circuit);
        break;
      case Step::Kind::kRelease:
        PutUp(step.circuit);
        break;
      case Step::Kind::kKey:
        keys_.RemoveNewest();
        break;
      case Step::Kind::kPlace:
        objects_ = step.objects;
        break;
    }
  }
}

}  // namespace bfly::control
